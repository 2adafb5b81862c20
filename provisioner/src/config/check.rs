//! What no type can say of a configuration: every fault at once, each with its place.

mod group;
pub(super) mod node;
mod proof;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use url::Url;

use super::{Aws, Config, Sns, Times};
use crate::sns;
use crate::sns::topic::Topic;

const HOUR: Duration = Duration::from_hours(1);

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, as in `node_group[0].regions[1]`.
    pub place: String,
    /// What is wrong, and what is right.
    pub fault: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.place, self.fault)
    }
}

#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn unless(&mut self, right: bool, place: impl Into<String>, fault: impl Into<String>) {
        self.add(place, (!right).then(|| fault.into()));
    }

    fn add(&mut self, place: impl Into<String>, fault: Option<String>) {
        if let Some(fault) = fault {
            self.0.push(Fault {
                place: place.into(),
                fault,
            });
        }
    }
}

pub(super) fn faults(config: &Config) -> Vec<Fault> {
    let mut faults = Faults::default();
    faults.unless(
        config.listen != config.health_listen,
        "health_listen",
        "must differ from `listen`, which faces the internet",
    );
    check_server(&mut faults, &config.cluster.server);
    check_topics(&mut faults, &config.sns);
    check_times(&mut faults, &config.times);
    check_aws(&mut faults, config.aws.as_ref());
    faults.unless(
        !config.node_groups.is_empty(),
        "node_group",
        "at least one is needed, or no instance is eligible",
    );
    let mut names = BTreeSet::new();
    for (at, group) in config.node_groups.iter().enumerate() {
        let place = format!("node_group[{at}]");
        faults.unless(
            names.insert(&group.name),
            format!("{place}.name"),
            format!("`{}` is the name of another group already", group.name),
        );
        group::check(&mut faults, &place, group, config.aws.is_some());
        proof::check_group(&mut faults, &place, &config.proof, group);
    }
    faults.0
}

fn check_server(faults: &mut Faults, server: &Url) {
    let plain = server.scheme() == "https"
        && server.host().is_some()
        && matches!(server.path(), "" | "/")
        && server.query().is_none()
        && server.fragment().is_none()
        && server.username().is_empty()
        && server.password().is_none();
    faults.unless(
        plain,
        "cluster.server",
        "must be `https://<name>:<port>` and nothing more",
    );
}

fn check_topics(faults: &mut Faults, sns: &Sns) {
    faults.unless(!sns.topics.is_empty(), "sns.topics", "at least one is needed");
    for (at, topic) in sns.signature_version_1.iter().enumerate() {
        let fault = format!("`{topic}` is not one of `sns.topics`");
        faults.unless(
            sns.topics.contains(topic),
            format!("sns.signature_version_1[{at}]"),
            fault,
        );
    }
    for (at, topic) in sns.topics.iter().enumerate() {
        let fault = format!("`{topic}` is not `arn:<partition>:sns:<region>:<account>:<name>`");
        faults.unless(topic.parse::<Topic>().is_ok(), format!("sns.topics[{at}]"), fault);
    }
}

fn check_times(faults: &mut Faults, times: &Times) {
    faults.unless(
        times.tombstone > sns::MAX_AGE.unsigned_abs(),
        "times.tombstone_seconds",
        "must be more than 3900: a message that is so old is believed, and could raise what was forgotten",
    );
    faults.unless(
        times.key_cooldown < times.tombstone,
        "times.key_cooldown_seconds",
        "must be less than `times.tombstone_seconds`",
    );
    faults.unless(
        (Duration::from_mins(1)..=Duration::from_mins(15)).contains(&times.token),
        "times.token_seconds",
        "must be between 60 and 900, for the policy `dynk8s-tokens` lets no token live longer",
    );
    faults.unless(
        times.announcement <= HOUR,
        "times.announcement_seconds",
        "must be at most 3600",
    );
}

fn check_aws(faults: &mut Faults, aws: Option<&Aws>) {
    faults.unless(
        aws.is_none_or(|it| (Duration::from_mins(1)..=HOUR).contains(&it.resync)),
        "aws.resync_seconds",
        "must be between 60 and 3600",
    );
}
