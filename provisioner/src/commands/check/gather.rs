//! Looks at everything. What cannot be seen is said, and keeps nothing else from being looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use dynk8s_api::binding::sts_host;
use ipnet::IpNet;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, CustomResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::facts::{Facts, Networks, Probe, Public, Seen};
use super::shipped::Shipped;
use super::{aws, probe, review};
use crate::cli::check::Check;
use crate::commands::cluster::{Cluster, ask};
use crate::config::Config;
use crate::fetch;
use crate::manifests;
use crate::reconcile::check::automatic_approval;
use crate::store::Store;
use crate::worker::Worker;

/// The Deployment that mounts the configuration, and its volume and file.
const DEPLOYMENT: &str = "dynk8s-provisioner-serve";
const VOLUME: &str = "config";
const FILE: &str = "provisioner.toml";

/// How long a stranger may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn gather(cluster: &Cluster, arguments: &Check, shipped: &Shipped) -> Facts {
    let config = seen(config(cluster, arguments.config.as_deref()).await);
    let mut policies = Vec::new();
    for policy in shipped.policies() {
        policies.push((policy.clone(), seen(live_policy(cluster, policy).await)));
    }
    Facts {
        definition: (json!(manifests::crd()), seen(definition(cluster).await)),
        needed: review::review(cluster, shipped.needed()).await,
        forbidden: review::review(cluster, shipped.forbidden()).await,
        policies,
        automatic_approval: seen(automatic_approval(&cluster.client).await),
        pool: seen(cluster.pool().await),
        most_instances: arguments.max,
        networks: seen(networks(cluster).await),
        server: match &config {
            Ok(config) => Some(seen(server(cluster, config).await)),
            Err(_) => None,
        },
        sts: sts(config.as_ref().ok()).await,
        public: public(arguments).await,
        aws: match &config {
            Ok(config) if arguments.aws || config.aws.is_some() => aws::gather(config).await,
            _ => None,
        },
        config,
    }
}

fn seen<T>(answer: anyhow::Result<T>) -> Seen<T> {
    answer.map_err(|error| format!("{error:#}"))
}

/// An object as JSON, or none.
async fn object<K>(api: Api<K>, name: &str) -> anyhow::Result<Option<Value>>
where
    K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let found = ask(format!("get `{name}`"), api.get_opt(name)).await?;
    found
        .map(serde_json::to_value)
        .transpose()
        .context("failed to look at it")
}

async fn definition(cluster: &Cluster) -> anyhow::Result<Option<Value>> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    object(definitions, Worker::crd_name()).await
}

async fn live_policy(cluster: &Cluster, policy: &Value) -> anyhow::Result<Option<Value>> {
    let name = policy["metadata"]["name"].as_str().unwrap_or_default();
    if policy["kind"] == "ValidatingAdmissionPolicy" {
        object(Api::<ValidatingAdmissionPolicy>::all(cluster.client.clone()), name).await
    } else {
        object(
            Api::<ValidatingAdmissionPolicyBinding>::all(cluster.client.clone()),
            name,
        )
        .await
    }
}

/// The file that was named, or what the Deployment mounts.
async fn config(cluster: &Cluster, file: Option<&Path>) -> anyhow::Result<Config> {
    if let Some(file) = file {
        return Config::read(file);
    }
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let deployment = ask("get the Deployment of `serve`", deployments.get_opt(DEPLOYMENT)).await?;
    let volumes = deployment
        .and_then(|it| it.spec?.template.spec?.volumes)
        .unwrap_or_default();
    let volume = volumes
        .into_iter()
        .find(|it| it.name == VOLUME)
        .and_then(|it| it.config_map);
    let name = volume.map(|it| it.name).ok_or_else(|| {
        anyhow!("no Deployment `{DEPLOYMENT}` mounts a ConfigMap as `{VOLUME}`; name the file with `--config`")
    })?;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let map = ask(format!("get ConfigMap `{name}`"), maps.get(&name)).await?;
    let text = map.data.and_then(|mut it| it.remove(FILE));
    let text = text.ok_or_else(|| anyhow!("ConfigMap `{name}` has no `{FILE}`"))?;
    Config::parse(Path::new(&format!("configmap/{name}/{FILE}")), &text)
}

/// The networks of pods and Services, as kubeadm wrote them down and as Nodes have them.
async fn networks(cluster: &Cluster) -> anyhow::Result<Networks> {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "kube-system");
    let map = ask("get ConfigMap `kubeadm-config`", maps.get_opt("kubeadm-config")).await?;
    let text = map
        .and_then(|it| it.data?.remove("ClusterConfiguration"))
        .unwrap_or_default();
    let kubeadm: Value = serde_saphyr::from_str(&text).unwrap_or_default();
    let listed = |field: &str| -> Vec<IpNet> {
        let text = kubeadm["networking"][field].as_str().unwrap_or_default();
        text.split(',').filter_map(|it| it.trim().parse().ok()).collect()
    };
    let mut networks = Networks {
        pods: listed("podSubnet"),
        services: listed("serviceSubnet"),
    };
    for node in ask("list the Nodes", cluster.nodes.list(&ListParams::default())).await? {
        let own = node.spec.and_then(|it| it.pod_cidrs).unwrap_or_default();
        networks
            .pods
            .extend(own.iter().filter_map(|it| it.parse::<IpNet>().ok()));
    }
    Ok(networks)
}

async fn server(cluster: &Cluster, config: &Config) -> anyhow::Result<Probe> {
    let namespace = &cluster.namespace;
    let authority = Store::new(cluster.client.clone(), namespace).cluster_ca().await;
    let authority = authority.with_context(|| {
        format!("failed to read the cluster's CA, which takes the right to get the ConfigMap `kube-root-ca.crt` in `{namespace}`")
    })?;
    Ok(probe::server(&config.cluster.server, &authority).await)
}

async fn sts(config: Option<&Config>) -> BTreeMap<String, Probe> {
    let groups = config.iter().flat_map(|it| &it.node_groups);
    let regions: BTreeSet<&String> = groups.flat_map(|it| &it.regions).collect();
    let mut found = BTreeMap::new();
    for region in regions {
        let probe = match fetch::client(PATIENCE) {
            Ok(client) => probe::host(&client, &sts_host(region)).await,
            Err(error) => Probe::Unreachable(format!("{error:#}")),
        };
        found.insert(region.clone(), probe);
    }
    found
}

async fn public(arguments: &Check) -> Option<Public> {
    let url = arguments.url.as_ref()?;
    match fetch::client(PATIENCE) {
        Ok(client) => Some(probe::public(&client, url).await),
        Err(error) => Some(Public {
            url: url.to_string(),
            reached: Probe::Unreachable(format!("{error:#}")),
            is_ours: false,
            exposed: Vec::new(),
        }),
    }
}
