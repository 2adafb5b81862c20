//! The topics, as AWS has them.

use super::Finding;
use crate::commands::check::facts::Aws;
use crate::config::Config;

const CHECK: &str = "topic";

pub(crate) fn topics(config: &Config, aws: Option<&Aws>) -> Vec<Finding> {
    config.sns.topics.iter().map(|topic| version(topic, aws)).collect()
}

fn version(topic: &str, aws: Option<&Aws>) -> Finding {
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

    #[test_case(Ok("2"), Outcome::Ok; "version 2")]
    #[test_case(Ok("1"), Outcome::Failed; "version 1")]
    #[test_case(Ok(""), Outcome::Failed; "a topic made long ago")]
    #[test_case(Err("no such topic"), Outcome::Failed; "no answer")]
    fn a_topic_signs_with_version_2(answer: Result<&str, &str>, expected: Outcome) {
        let answer = answer.map(str::to_owned).map_err(str::to_owned);
        let aws = Aws {
            signature_versions: [(TOPIC.to_owned(), answer)].into(),
            ..Aws::default()
        };
        assert_eq!(version(TOPIC, Some(&aws)).outcome, expected);
    }

    #[test]
    fn without_credentials_it_is_said_how_to_look() {
        let finding = version(TOPIC, None);
        assert_eq!(finding.outcome, Outcome::Warning);
        assert!(finding.remedy.unwrap().contains("get-topic-attributes"));
    }
}
