//! The conversation with AWS over real TLS: what is asked, and what is made of answers that are not right.

mod fake;

use axum::http::StatusCode;
use test_case::test_case;

use self::fake::{Fake, INSTANCES, error, instances, tags};
use super::Error;

const REGION: &str = "eu-central-1";

fn ids(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|it| format!("i-{it:017x}")).collect()
}

#[tokio::test]
async fn what_is_asked_is_signed_and_only_what_was_asked_for_is_told() {
    let aws = Fake::answering([(
        StatusCode::OK,
        instances(&["i-00000000000000001", "i-00000000000000099"], None),
    )])
    .await;
    let found = aws.client().instances(REGION, &ids(1..3)).await.unwrap();
    assert_eq!(
        found.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(),
        ["i-00000000000000001"]
    );
    let asked = aws.asked();
    assert_eq!(
        (asked[0].host.as_str(), asked[0].body.as_str()),
        (
            "ec2.eu-central-1.amazonaws.com",
            "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=instance-id&Filter.1.Value.1=i-00000000000000001\
             &Filter.1.Value.2=i-00000000000000002"
        )
    );
    assert!(asked[0].is_signed, "the signature is that of the fake's own arithmetic");
}

#[tokio::test]
async fn many_are_asked_for_in_several_questions_and_lists_page_by_page() {
    let empty = instances(&[], Some("next"));
    let aws = Fake::answering([
        (StatusCode::OK, empty),
        (StatusCode::OK, instances(&["i-00000000000000001"], None)),
        (StatusCode::OK, instances(&["i-000000000000000c9"], None)),
    ])
    .await;
    let found = aws.client().instances(REGION, &ids(1..252)).await.unwrap();
    assert_eq!(found.len(), 2, "an empty page is not the last one");
    let values: Vec<usize> = aws
        .asked()
        .iter()
        .map(|it| it.body.matches("Filter.1.Value").count())
        .collect();
    assert_eq!(values, [200, 200, 51]);
    assert!(aws.asked()[1].body.ends_with("&NextToken=next"));
}

#[tokio::test]
async fn nobody_is_asked_about_nothing() {
    let aws = Fake::answering([]).await;
    assert!(aws.client().instances(REGION, &[]).await.unwrap().is_empty());
    assert!(aws.client().group_tags(REGION, &[]).await.unwrap().is_empty());
    assert!(aws.asked().is_empty());
}

#[tokio::test]
async fn the_tags_of_groups_are_told_by_group() {
    let aws = Fake::answering([(StatusCode::OK, tags(&[("burst", "a", "1"), ("other", "a", "2")]))]).await;
    let found = aws.client().group_tags(REGION, &["burst".to_owned()]).await.unwrap();
    assert_eq!((found["burst"]["a"].as_str(), found["other"]["a"].as_str()), ("1", "2"));
    assert_eq!(aws.asked()[0].host, "autoscaling.eu-central-1.amazonaws.com");
}

#[test_case(StatusCode::SERVICE_UNAVAILABLE, "RequestLimitExceeded"; "EC2 asks for patience")]
#[test_case(StatusCode::BAD_REQUEST, "Throttling"; "Auto Scaling asks for patience")]
#[test_case(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"; "it is broken for a moment")]
#[tokio::test]
async fn what_may_pass_is_waited_for(status: StatusCode, code: &str) {
    let aws = Fake::answering([(status, error(code)), (StatusCode::OK, instances(&[], None))]).await;
    assert!(aws.client().instances(REGION, &ids(1..2)).await.unwrap().is_empty());
    assert_eq!(aws.asked().len(), 2);
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    let aws = Fake::answering([(StatusCode::FORBIDDEN, error("UnauthorizedOperation"))]).await;
    let refused = aws.client().instances(REGION, &ids(1..2)).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused { code, .. } if code == "UnauthorizedOperation"),
        "{refused}"
    );
    assert_eq!(aws.asked().len(), 1);
}

#[test_case(&INSTANCES[..600]; "cut off")]
#[test_case(""; "nothing")]
#[test_case("{}"; "json")]
#[tokio::test]
async fn an_answer_that_is_not_understood_is_no_empty_list(body: &str) {
    let aws = Fake::answering([(StatusCode::OK, body.to_owned())]).await;
    let malformed = aws.client().instances(REGION, &ids(1..2)).await.unwrap_err();
    assert!(matches!(malformed, Error::Malformed { .. }), "{malformed}");
}

#[tokio::test]
async fn pages_that_lead_in_a_circle_end() {
    let page = || (StatusCode::OK, instances(&[], Some("again")));
    let aws = Fake::answering([page(), page(), page()]).await;
    let circle = aws.client().instances(REGION, &ids(1..2)).await.unwrap_err();
    assert!(matches!(circle, Error::Malformed { .. }), "{circle}");
    assert_eq!(aws.asked().len(), 2);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let aws = Fake::answering([(StatusCode::TEMPORARY_REDIRECT, String::new())]).await;
    assert!(matches!(aws.client().account(REGION).await, Err(Error::Refused { .. })));
    assert_eq!(aws.asked().len(), 1);
}

#[tokio::test]
async fn errors_hold_no_secret() {
    let aws = Fake::answering([(StatusCode::FORBIDDEN, error("ExpiredToken"))]).await;
    let client = aws.client();
    let printed = format!("{:?} {client:?}", client.account(REGION).await.unwrap_err());
    assert!(!printed.contains(fake::SECRET), "{printed}");
}

#[tokio::test]
async fn what_check_asks_is_asked_of_the_right_service() {
    let aws = Fake::answering([]).await;
    let client = aws.client();
    assert!(client.maxima(REGION, &["burst".to_owned()]).await.is_err());
    assert!(
        client
            .signature_version(REGION, "arn:aws:sns:eu-central-1:123456789012:dynk8s")
            .await
            .is_err()
    );
    let asked: Vec<String> = aws
        .asked()
        .into_iter()
        .map(|it| format!("{} {}", it.host, it.body))
        .collect();
    let expected = [
        "autoscaling.eu-central-1.amazonaws.com Action=DescribeAutoScalingGroups&Version=2011-01-01\
         &AutoScalingGroupNames.member.1=burst",
        "sns.eu-central-1.amazonaws.com Action=GetTopicAttributes&Version=2010-03-31\
         &TopicArn=arn%3Aaws%3Asns%3Aeu-central-1%3A123456789012%3Adynk8s",
    ];
    assert_eq!(asked, expected);
    assert!(aws.asked().iter().all(|it| it.is_signed));
}
