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
mod tests;
