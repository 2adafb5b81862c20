//! Lists, page by page. One that is not whole is an error: what is missing in it must not be taken for gone.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{self, GroupTag, Instance, Page};
use super::request::{Question, Service};
use super::{Client, Error};

/// The most values of one filter, by the reference of `DescribeInstances`.
const MAX_VALUES: usize = 200;

/// The most groups that are described at once, by the reference of `DescribeAutoScalingGroups`.
const MAX_GROUPS: usize = 50;

/// More pages than any list of ours has.
const MAX_PAGES: usize = 50;

/// Tags of Auto Scaling groups, by the group's name.
pub type GroupTags = BTreeMap<String, BTreeMap<String, String>>;

impl Client {
    /// The account that the credentials belong to.
    pub async fn account(&self, region: &str) -> Result<String, Error> {
        let question = Question {
            service: Service::Sts,
            action: "GetCallerIdentity",
            parameters: Vec::new(),
        };
        let body = self.ask(region, &question).await?;
        answer::account(&body).ok_or_else(|| malformed(Service::Sts, region, "names no account"))
    }

    /// The signature version of a topic.
    pub async fn signature_version(&self, region: &str, topic: &str) -> Result<String, Error> {
        let question = Question {
            service: Service::Sns,
            action: "GetTopicAttributes",
            parameters: vec![("TopicArn".to_owned(), topic.to_owned())],
        };
        let body = self.ask(region, &question).await?;
        answer::signature_version(&body)
            .ok_or_else(|| malformed(Service::Sns, region, "names no attributes of the topic"))
    }

    /// Those of these instances that EC2 knows.
    pub async fn instances(&self, region: &str, ids: &[String]) -> Result<Vec<Instance>, Error> {
        let mut found = Vec::new();
        for ids in ids.chunks(MAX_VALUES) {
            // As a filter: an id that EC2 does not know is an error in the parameter that is made for them.
            let mut parameters = vec![("Filter.1.Name".to_owned(), "instance-id".to_owned())];
            parameters.extend(numbered("Filter.1.Value", ids));
            let question = Question {
                service: Service::Ec2,
                action: "DescribeInstances",
                parameters,
            };
            found.extend(self.list(region, question, answer::instances).await?);
        }
        let asked: BTreeSet<&String> = ids.iter().collect();
        found.retain(|it| asked.contains(&it.id));
        Ok(found)
    }

    /// The tags of these Auto Scaling groups.
    pub async fn group_tags(&self, region: &str, groups: &[String]) -> Result<GroupTags, Error> {
        let mut found = GroupTags::new();
        for groups in groups.chunks(MAX_VALUES) {
            let mut parameters = vec![("Filters.member.1.Name".to_owned(), "auto-scaling-group".to_owned())];
            parameters.extend(numbered("Filters.member.1.Values.member", groups));
            let question = Question {
                service: Service::AutoScaling,
                action: "DescribeTags",
                parameters,
            };
            let tags: Vec<GroupTag> = self.list(region, question, answer::group_tags).await?;
            for (group, key, value) in tags {
                found.entry(group).or_default().insert(key, value);
            }
        }
        Ok(found)
    }

    /// The maximum sizes of these Auto Scaling groups, by name.
    pub async fn maxima(&self, region: &str, groups: &[String]) -> Result<BTreeMap<String, usize>, Error> {
        let mut found = BTreeMap::new();
        for groups in groups.chunks(MAX_GROUPS) {
            let question = Question {
                service: Service::AutoScaling,
                action: "DescribeAutoScalingGroups",
                parameters: numbered("AutoScalingGroupNames.member", groups).collect(),
            };
            found.extend(self.list(region, question, answer::maxima).await?);
        }
        Ok(found)
    }

    async fn list<T>(
        &self,
        region: &str,
        question: Question,
        read: fn(&[u8]) -> Option<Page<T>>,
    ) -> Result<Vec<T>, Error> {
        let fault = |fault| malformed(question.service, region, fault);
        let mut items = Vec::new();
        let mut tokens = BTreeSet::new();
        let mut page = question.clone();
        for _ in 0..MAX_PAGES {
            let body = self.ask(region, &page).await?;
            let answer = read(&body).ok_or_else(|| fault("answers what is not documented"))?;
            items.extend(answer.items);
            let Some(next) = answer.next else {
                return Ok(items);
            };
            page.parameters.clone_from(&question.parameters);
            page.parameters.push(("NextToken".to_owned(), next.clone()));
            if !tokens.insert(next) {
                return Err(fault("leads from page to page in a circle"));
            }
        }
        Err(fault("has no last page"))
    }
}

fn numbered<'a>(name: &'a str, values: &'a [String]) -> impl Iterator<Item = (String, String)> {
    let numbered = values.iter().zip(1..);
    numbered.map(move |(value, number): (_, usize)| (format!("{name}.{number}"), value.clone()))
}

fn malformed(service: Service, region: &str, fault: &'static str) -> Error {
    let host = service.host(region);
    Error::Malformed { host, fault }
}
