//! The XML of the Query APIs. What is needed must be there, in its documented place; the rest is passed over.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};
use serde::Deserialize as _;
use serde::de::value::{Error, StrDeserializer};

use crate::worker::State;

const EC2: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";
const AUTO_SCALING: &str = "http://autoscaling.amazonaws.com/doc/2011-01-01/";
const SNS: &str = "http://sns.amazonaws.com/doc/2010-03-31/";
const STS: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// An answer of a thousand instances has a tenth of this.
const MAX_NODES: u32 = 1_000_000;

/// An instance as EC2 describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: String,
    pub account: String,
    pub state: State,
    pub instance_type: String,
    pub zone: String,
    pub tags: BTreeMap<String, String>,
}

/// A part of a list, and where the next one begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
}

impl<T> Page<T> {
    /// The last page has no token, or an empty one. One that cannot be read is no end: what comes after it would be missing.
    fn of(items: Vec<T>, parent: Element<'_, '_>, token: &str) -> Option<Self> {
        let next = parent.text_or_empty(token)?;
        let next = (!next.is_empty()).then_some(next);
        Some(Self { items, next })
    }
}

/// A tag of an Auto Scaling group: the group, the key, the value.
pub(super) type GroupTag = (String, String, String);

/// A `DescribeInstancesResponse`.
pub(super) fn instances(body: &[u8]) -> Option<Page<Instance>> {
    read(body, |root| {
        let root = Element::new(root, EC2).named("DescribeInstancesResponse")?;
        let mut items = Vec::new();
        for reservation in root.child("reservationSet")?.children("item") {
            let account = reservation.text("ownerId")?;
            for item in reservation.child("instancesSet")?.children("item") {
                items.push(instance(item, &account)?);
            }
        }
        Page::of(items, root, "nextToken")
    })
}

fn instance(item: Element<'_, '_>, account: &str) -> Option<Instance> {
    let mut tags = BTreeMap::new();
    if item.has("tagSet") {
        for tag in item.child("tagSet")?.children("item") {
            tags.insert(tag.text("key")?, tag.text("value")?);
        }
    }
    let state = item.child("instanceState")?.text("name")?;
    Some(Instance {
        id: item.text("instanceId")?,
        account: account.to_owned(),
        state: State::deserialize(StrDeserializer::<Error>::new(&state)).ok()?,
        instance_type: item.text("instanceType")?,
        zone: item.child("placement")?.text("availabilityZone")?,
        tags,
    })
}

/// A `DescribeTagsResponse` of Auto Scaling.
pub(super) fn group_tags(body: &[u8]) -> Option<Page<GroupTag>> {
    read(body, |root| {
        let result = Element::new(root, AUTO_SCALING)
            .named("DescribeTagsResponse")?
            .child("DescribeTagsResult")?;
        let tags = result.child("Tags")?;
        let tag = |it: Element<'_, '_>| Some((it.text("ResourceId")?, it.text("Key")?, it.text_or_empty("Value")?));
        let items: Option<Vec<GroupTag>> = tags.children("member").map(tag).collect();
        Page::of(items?, result, "NextToken")
    })
}

/// Names and maximum sizes in a `DescribeAutoScalingGroupsResponse`.
pub(super) fn maxima(body: &[u8]) -> Option<Page<(String, usize)>> {
    read(body, |root| {
        let result = Element::new(root, AUTO_SCALING)
            .named("DescribeAutoScalingGroupsResponse")?
            .child("DescribeAutoScalingGroupsResult")?;
        let group = |it: Element<'_, '_>| Some((it.text("AutoScalingGroupName")?, it.text("MaxSize")?.parse().ok()?));
        let items: Option<Vec<_>> = result
            .child("AutoScalingGroups")?
            .children("member")
            .map(group)
            .collect();
        Page::of(items?, result, "NextToken")
    })
}

/// The signature version in a `GetTopicAttributesResponse`; a topic that was never told signs with 1.
pub(super) fn signature_version(body: &[u8]) -> Option<String> {
    read(body, |root| {
        let result = Element::new(root, SNS)
            .named("GetTopicAttributesResponse")?
            .child("GetTopicAttributesResult")?;
        let is_it = |it: &Element<'_, '_>| it.text("key").as_deref() == Some("SignatureVersion");
        match result.child("Attributes")?.children("entry").find(is_it) {
            Some(entry) => entry.text("value"),
            None => Some("1".to_owned()),
        }
    })
}

/// The account in a `GetCallerIdentityResponse`.
pub(super) fn account(body: &[u8]) -> Option<String> {
    read(body, |root| {
        let root = Element::new(root, STS).named("GetCallerIdentityResponse")?;
        root.child("GetCallerIdentityResult")?.text("Account")
    })
}

/// The code of an error: EC2's `Response/Errors/Error`, or `ErrorResponse/Error` of the others.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    read(body, |root| {
        let code = root.descendants().find(|it| it.tag_name().name() == "Code")?.text()?;
        let plain = code.len() <= 64 && code.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.');
        plain.then(|| code.to_owned())
    })
}

fn read<T>(body: &[u8], find: impl FnOnce(Node<'_, '_>) -> Option<T>) -> Option<T> {
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(std::str::from_utf8(body).ok()?, options).ok()?;
    find(document.root_element())
}

/// An element whose children are looked for in one namespace.
#[derive(Clone, Copy)]
struct Element<'a, 'input> {
    node: Node<'a, 'input>,
    namespace: &'static str,
}

impl<'a, 'input> Element<'a, 'input> {
    fn new(node: Node<'a, 'input>, namespace: &'static str) -> Self {
        Self { node, namespace }
    }

    fn named(self, name: &str) -> Option<Self> {
        self.node.has_tag_name((self.namespace, name)).then_some(self)
    }

    fn children(self, name: &str) -> impl Iterator<Item = Self> {
        let children = self.node.children().map(move |it| Self::new(it, self.namespace));
        children.filter_map(move |it| it.named(name))
    }

    /// The child of this name, if there is exactly one.
    fn child(self, name: &str) -> Option<Self> {
        let mut children = self.children(name);
        let child = children.next()?;
        children.next().is_none().then_some(child)
    }

    fn has(self, name: &str) -> bool {
        self.children(name).next().is_some()
    }

    /// The text of a child that need not be there.
    fn text_or_empty(self, name: &str) -> Option<String> {
        if self.has(name) {
            self.text(name)
        } else {
            Some(String::new())
        }
    }

    fn text(self, name: &str) -> Option<String> {
        let child = self.child(name)?;
        let only_text = child.node.children().all(|it| it.is_text());
        only_text.then(|| child.node.text().unwrap_or_default().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{account, error_code, group_tags, instances, maxima, signature_version};
    use crate::worker::State;

    const INSTANCES: &str = include_str!("../../testdata/ec2/instances.xml");
    const TAGS: &str = include_str!("../../testdata/ec2/tags.xml");

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
}
