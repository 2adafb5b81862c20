//! What EC2 and Auto Scaling answer, as far as anybody reads it.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::aws::cloud::Instance;

type Tags = BTreeMap<String, String>;

pub(super) fn instance(it: &Instance, account: &str, state: &str, tags: Option<&Tags>) -> String {
    let tag = |(key, value): (&String, &String)| {
        format!(
            "<item><key>{}</key><value>{}</value></item>",
            escaped(key),
            escaped(value)
        )
    };
    let tags: String = tags.into_iter().flatten().map(tag).collect();
    format!(
        "<item><reservationId>r-{}</reservationId><ownerId>{account}</ownerId><groupSet/><instancesSet><item>\
         <instanceId>{}</instanceId><imageId>{}</imageId><instanceState><name>{state}</name></instanceState>\
         <privateIpAddress>{}</privateIpAddress><instanceType>{}</instanceType><launchTime>{}</launchTime><placement>\
         <availabilityZone>{}</availabilityZone></placement><tagSet>{tags}</tagSet></item></instancesSet></item>",
        &it.id[2..],
        it.id,
        it.image,
        it.address,
        it.kind,
        it.launched,
        it.zone
    )
}

pub(super) fn instances(described: &[String], next: Option<&str>) -> String {
    let next = next.map_or_else(String::new, |it| format!("<nextToken>{it}</nextToken>"));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DescribeInstancesResponse \
         xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>{}</requestId><reservationSet>{}</reservationSet>\
         {next}</DescribeInstancesResponse>",
        Uuid::new_v4(),
        described.concat()
    )
}

pub(super) fn tags<'a>(groups: impl Iterator<Item = (&'a String, &'a Tags)>) -> String {
    let of_group = |(group, tags): (&String, &Tags)| tags.iter().map(|it| member(group, it)).collect::<String>();
    let members: String = groups.map(of_group).collect();
    format!(
        "<DescribeTagsResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><DescribeTagsResult><Tags>{members}\
         </Tags></DescribeTagsResult></DescribeTagsResponse>"
    )
}

fn member(group: &str, (key, value): (&String, &String)) -> String {
    let (group, key, value) = (escaped(group), escaped(key), escaped(value));
    format!(
        "<member><ResourceId>{group}</ResourceId><ResourceType>auto-scaling-group</ResourceType><Key>{key}</Key>\
         <Value>{value}</Value><PropagateAtLaunch>false</PropagateAtLaunch></member>"
    )
}

pub(super) fn failure(code: &str) -> String {
    let id = Uuid::new_v4();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>{code}</Code><Message>{code}</Message>\
         </Error></Errors><RequestID>{id}</RequestID></Response>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
