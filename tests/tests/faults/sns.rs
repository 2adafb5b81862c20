//! Messages that SNS did not send, or not to us.

use anyhow::ensure;
use dynk8s_lab::aws::cloud::Instance;
use dynk8s_lab::aws::eventbridge::InstanceState;
use dynk8s_lab::aws::sns::message::Message;
use jiff::Timestamp;

use crate::stage::Stage;

pub(crate) async fn message_is_forged(stage: &mut Stage) -> anyhow::Result<()> {
    let (known, unknown) = (stage.region.launch(), stage.region.launch());
    let mut message = announcement(stage, &known);
    message.message = message.message.replace(&known.id, &unknown.id);
    is_refused(stage, &message, &unknown).await
}

pub(crate) async fn topic_is_not_listed(stage: &mut Stage) -> anyhow::Result<()> {
    let instance = stage.region.launch();
    let mut message = announcement(stage, &instance);
    message.topic = message.topic.replace(":dynk8s", ":somebody-else");
    // Whoever has a topic of his own has it signed by AWS as well.
    stage.region.aws.sns.sign(&mut message);
    is_refused(stage, &message, &instance).await
}

fn announcement(stage: &Stage, instance: &Instance) -> Message {
    let aws = &stage.region.aws;
    let event = aws
        .events
        .state_change(&instance.id, InstanceState::Running, Timestamp::now());
    aws.sns.notification(&event.to_string())
}

async fn is_refused(stage: &Stage, message: &Message, instance: &Instance) -> anyhow::Result<()> {
    match stage.region.aws.deliver(message).await {
        Err(error) if format!("{error:#}").contains("403") => {}
        other => anyhow::bail!("the message was not refused for good: {other:?}"),
    }
    let attempts = stage.region.aws.sns.deliveries().entries();
    // A connection that an earlier fault has cut is no answer.
    let answers = attempts
        .iter()
        .filter(|it| it.message == message.id && it.outcome.is_ok());
    let answers = answers.count();
    ensure!(answers == 1, "SNS was answered {answers} times");
    let worker = stage.region.worker(instance).await?;
    ensure!(worker.is_none(), "a forged message made a Worker: {worker:?}");
    Ok(())
}
