//! EventBridge as far as the rule that dynk8s needs: state changes of EC2 instances, sent through SNS.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cloud::Cloud;
use super::sns::Sns;
use super::sns::message::Message;

/// The states that EC2 tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceState {
    Pending,
    Running,
    Stopping,
    Stopped,
    ShuttingDown,
    Terminated,
}

impl InstanceState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        }
    }
}

/// The bus with its one rule, whose target is the topic.
#[derive(Debug, Clone)]
pub struct EventBridge {
    cloud: Cloud,
    sns: Sns,
}

impl EventBridge {
    pub fn new(cloud: Cloud, sns: Sns) -> Self {
        Self { cloud, sns }
    }

    /// Tells every subscriber of the topic that an instance changed state.
    pub async fn announce(&self, instance: &str, state: InstanceState) -> anyhow::Result<Message> {
        self.sns
            .publish(&self.state_change(instance, state, Timestamp::now()).to_string())
            .await
    }

    /// The event itself, for a test that wants to alter it.
    pub fn state_change(&self, instance: &str, state: InstanceState, time: Timestamp) -> Value {
        let (account, region) = (self.cloud.account(), self.cloud.region());
        json!({
            "version": "0",
            "id": Uuid::new_v4().to_string(),
            "detail-type": "EC2 Instance State-change Notification",
            "source": "aws.ec2",
            "account": account,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "region": region,
            "resources": [format!("arn:aws:ec2:{region}:{account}:instance/{instance}")],
            "detail": { "instance-id": instance, "state": state.as_str() },
        })
    }
}
