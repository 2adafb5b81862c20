//! The topics, as AWS has them.

use super::Finding;
use crate::commands::check::facts::Aws;
use crate::config::Config;

const CHECK: &str = "topic";

pub(crate) fn topics(config: &Config, aws: Option<&Aws>) -> Vec<Finding> {
    let old = &config.sns.signature_version_1;
    let topics = config.sns.topics.iter();
    topics.map(|it| version(it, old.contains(it), aws)).collect()
}

fn version(topic: &str, old_is_accepted: bool, aws: Option<&Aws>) -> Finding {
    let by_hand = format!(
        "look yourself: `aws sns get-topic-attributes --topic-arn {topic} --query Attributes.SignatureVersion` must say \"2\""
    );
    let set = format!(
        "`aws sns set-topic-attributes --topic-arn {topic} --attribute-name SignatureVersion --attribute-value 2`"
    );
    match aws.and_then(|it| it.signature_versions.get(topic)) {
        None => Finding::warning(
            CHECK,
            format!("`{topic}` was not looked at, for there are no AWS credentials"),
            by_hand,
        ),
        Some(Err(why)) => Finding::failed(CHECK, format!("`{topic}` could not be looked at: {why}"), by_hand),
        Some(Ok(version)) if version == "2" => Finding::ok(CHECK, format!("`{topic}` signs with version 2")),
        Some(Ok(_)) if old_is_accepted => Finding::warning(
            CHECK,
            format!("`{topic}` signs with version 1, SHA-1, which `sns.signature_version_1` accepts of it"),
            format!("{set}, and take it out of `sns.signature_version_1`"),
        ),
        Some(Ok(_)) => Finding::failed(CHECK, format!("`{topic}` signs with version 1, which is refused"), set),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::version;
    use crate::commands::check::decide::Outcome;
    use crate::commands::check::facts::Aws;

    const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:dynk8s";

    #[test_case(Ok("2"), false, Outcome::Ok; "version 2")]
    #[test_case(Ok("1"), false, Outcome::Failed; "version 1")]
    #[test_case(Ok(""), false, Outcome::Failed; "a topic made long ago")]
    #[test_case(Err("no such topic"), false, Outcome::Failed; "no answer")]
    #[test_case(Ok("2"), true, Outcome::Ok; "version 2, and the old one would do")]
    #[test_case(Ok("1"), true, Outcome::Warning; "version 1, which is accepted")]
    #[test_case(Err("no such topic"), true, Outcome::Failed; "no answer of an old topic")]
    fn a_topic_signs_with_the_version_that_is_accepted(answer: Result<&str, &str>, old: bool, expected: Outcome) {
        let answer = answer.map(str::to_owned).map_err(str::to_owned);
        let aws = Aws {
            signature_versions: [(TOPIC.to_owned(), answer)].into(),
            ..Aws::default()
        };
        assert_eq!(version(TOPIC, old, Some(&aws)).outcome, expected);
    }

    #[test]
    fn without_credentials_it_is_said_how_to_look() {
        let finding = version(TOPIC, false, None);
        assert_eq!(finding.outcome, Outcome::Warning);
        assert!(finding.remedy.unwrap().contains("get-topic-attributes"));
    }
}
