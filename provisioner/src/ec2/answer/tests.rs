//! What is read of AWS's answers, and what is refused.

use test_case::test_case;

use super::{account, error_code, group_tags, instances, maxima, signature_version};
use crate::worker::State;

const INSTANCES: &str = include_str!("../../../testdata/ec2/instances.xml");
const TAGS: &str = include_str!("../../../testdata/ec2/tags.xml");

#[test]
fn reads_instances() {
    let page = instances(INSTANCES.as_bytes()).unwrap();
    assert_eq!(page.next.as_deref(), Some("eyJ2IjoiMiJ9"));
    let [one, other] = &page.items[..] else {
        panic!("{page:?}")
    };
    assert_eq!(
        (one.id.as_str(), one.account.as_str(), one.state),
        ("i-0123456789abcdef0", "123456789012", State::Running)
    );
    assert_eq!(
        (one.instance_type.as_str(), one.zone.as_str()),
        ("m7g.large", "eu-central-1a")
    );
    assert_eq!(one.tags["aws:autoscaling:groupName"], "burst");
    assert_eq!((one.tags["Name"].as_str(), one.tags.len()), ("a & b", 3));
    assert_eq!((other.state, other.tags.len()), (State::Terminated, 0));
}

#[test]
fn an_empty_list_is_a_list() {
    let empty = r#"<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>"#;
    let page = instances(empty.as_bytes()).unwrap();
    assert_eq!((page.items.len(), page.next), (0, None));
}

#[test_case("</DescribeInstancesResponse>", ""; "cut off")]
#[test_case("DescribeInstancesResponse", "DescribeVolumesResponse"; "another answer")]
#[test_case("doc/2016-11-15", "doc/2010-08-31"; "another version")]
#[test_case("<reservationSet>", "<reservations>"; "what does not close")]
#[test_case("reservationSet", "reservations"; "no list")]
#[test_case("<name>running</name>", "<name>dancing</name>"; "an unknown state")]
#[test_case("<ownerId>123456789012</ownerId>", ""; "nobody's instance")]
#[test_case("<instanceId>i-0123456789abcdef0</instanceId>", ""; "no id")]
#[test_case("<instanceId>i-0123456789abcdef0</instanceId>", "<instanceId>i-1</instanceId><instanceId>i-2</instanceId>"; "two ids")]
#[test_case("<instanceId>i-0123456789abcdef0</instanceId>", "<instanceId>i-0123<x/>456789abcdef0</instanceId>"; "an element in a text")]
#[test_case("</nextToken>", "<x/></nextToken>"; "a next page that cannot be read")]
#[test_case("<nextToken>", "<nextToken/><nextToken>"; "two next pages")]
#[test_case("<tagSet>", "<tagSet/><tagSet>"; "two sets of tags")]
#[test_case("<DescribeInstancesResponse ", "<!DOCTYPE x [<!ENTITY e '1'>]><DescribeInstancesResponse "; "a document type")]
fn refuses(right: &str, wrong: &str) {
    assert!(INSTANCES.contains(right));
    assert_eq!(instances(INSTANCES.replace(right, wrong).as_bytes()), None);
}

#[test]
fn reads_the_tags_of_groups() {
    let page = group_tags(TAGS.as_bytes()).unwrap();
    let label = "k8s.io/cluster-autoscaler/node-template/label/example.com/burst";
    let of = |key: &str, value: &str| ("burst".to_owned(), key.to_owned(), value.to_owned());
    assert_eq!(page.items, [of(label, "true"), of("empty", "")]);
    assert_eq!(page.next, None);
    assert_eq!(group_tags(INSTANCES.as_bytes()), None);
}

#[test_case("</DescribeTagsResponse>", ""; "cut off")]
#[test_case("doc/2011-01-01", "doc/2010-08-01"; "another version")]
#[test_case("<Tags>", "<Tags/><Tags>"; "two lists")]
#[test_case("<ResourceId>burst</ResourceId>", ""; "nobody's tag")]
#[test_case("<Key>empty</Key>", ""; "no key")]
#[test_case("<Key>empty</Key>", "<Key>one</Key><Key>other</Key>"; "two keys")]
#[test_case("<Value>true</Value>", "<Value>true</Value><Value>false</Value>"; "two values")]
#[test_case("<Value>true</Value>", "<Value><x/>true</Value>"; "an element in a value")]
#[test_case("</Tags>", "</Tags><NextToken><x/>t</NextToken>"; "a next page that cannot be read")]
#[test_case("<DescribeTagsResponse ", "<!DOCTYPE x [<!ENTITY e '1'>]><DescribeTagsResponse "; "a document type")]
fn refuses_tags(right: &str, wrong: &str) {
    assert!(TAGS.contains(right));
    assert_eq!(group_tags(TAGS.replace(right, wrong).as_bytes()), None);
}

#[test]
fn reads_the_maximum_sizes_of_groups() {
    let answer = r#"<DescribeAutoScalingGroupsResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>burst</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>12</MaxSize></member></AutoScalingGroups></DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"#;
    assert_eq!(maxima(answer.as_bytes()).unwrap().items, [("burst".to_owned(), 12)]);
    assert_eq!(maxima(answer.replace("12</Max", "many</Max").as_bytes()), None);
}

#[test_case("<entry><key>SignatureVersion</key><value>2</value></entry>", Some("2"); "told")]
#[test_case("<entry><key>Owner</key><value>123456789012</value></entry>", Some("1"); "never told")]
#[test_case("<entry><key>SignatureVersion</key></entry>", None; "not documented")]
fn reads_the_signature_version_of_a_topic(entry: &str, version: Option<&str>) {
    let answer = format!(
        "<GetTopicAttributesResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><GetTopicAttributesResult>\
         <Attributes>{entry}</Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>"
    );
    assert_eq!(signature_version(answer.as_bytes()).as_deref(), version);
}

#[test]
fn reads_an_account() {
    let answer = r#"<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/dynk8s</Arn><UserId>AIDA</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"#;
    assert_eq!(account(answer.as_bytes()).as_deref(), Some("123456789012"));
    assert_eq!(account(b"<GetCallerIdentityResponse/>"), None);
}

#[test_case("<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>", Some("RequestLimitExceeded"); "of EC2")]
#[test_case("<ErrorResponse xmlns='x'><Error><Code>Throttling</Code></Error></ErrorResponse>", Some("Throttling"); "of the others")]
#[test_case("<Error><Code>a secret, or a whole story</Code></Error>", None; "what is no code")]
#[test_case("<html>502</html>", None; "a proxy's")]
#[test_case("", None; "nothing")]
fn reads_the_code_of_an_error(body: &str, code: Option<&str>) {
    assert_eq!(error_code(body.as_bytes()).as_deref(), code);
}
