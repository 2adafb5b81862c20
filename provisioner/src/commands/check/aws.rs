//! What AWS tells whoever has credentials, found as every AWS tool finds them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::facts::{Aws, Seen};
use crate::config::Config;
use crate::ec2::{Client, Error, chain};
use crate::fetch;
use crate::sns::topic::Topic;

const PATIENCE: Duration = Duration::from_secs(10);

/// None without credentials.
pub(super) async fn gather(config: &Config) -> Option<Aws> {
    let regions: BTreeSet<&String> = config.node_groups.iter().flat_map(|it| &it.regions).collect();
    let first = regions.first()?;
    let client = Client::new(fetch::client(PATIENCE).ok()?, chain(first));
    if let Err(Error::Credentials(_)) = client.account(first).await {
        return None;
    }
    let mut aws = Aws::default();
    for topic in &config.sns.topics {
        if let Ok(parsed) = topic.parse::<Topic>() {
            let version = seen(client.signature_version(&parsed.region, topic).await);
            aws.signature_versions.insert(topic.clone(), version);
        }
    }
    for region in regions {
        let there = config.node_groups.iter().filter(|it| it.regions.contains(region));
        let distinct: BTreeSet<&String> = there.flat_map(|it| &it.auto_scaling_groups).collect();
        let names: Vec<String> = distinct.into_iter().cloned().collect();
        aws.tags
            .insert(region.clone(), seen(client.group_tags(region, &names).await));
        aws.maxima
            .insert(region.clone(), seen(client.maxima(region, &names).await));
    }
    Some(aws)
}

fn seen<T>(answer: Result<T, Error>) -> Seen<T> {
    answer.map_err(|error| format!("{:#}", anyhow::Error::new(error)))
}
