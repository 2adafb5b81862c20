//! Everything that the API server lets somebody do: each verb of each resource, and how it is asked for.

use anyhow::{Context as _, ensure};
use reqwest::Method;
use serde_json::Value;

use super::client::Client;

/// No object's name.
const NOBODY: &str = "x";

/// A resource of one version of a group.
pub(super) struct Served {
    path: String,
    group: String,
    /// With its subresource, as in `nodes/status`.
    pub(super) name: String,
    pub(super) is_namespaced: bool,
    pub(super) verbs: Vec<String>,
}

impl Served {
    /// Group and resource.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// A request that changes nothing: it asks for what is not there, or for a trial.
    pub(super) fn request(&self, verb: &str, namespace: &str, object: &str) -> Option<(Method, String)> {
        let object = if object.is_empty() { NOBODY } else { object };
        let place = match namespace {
            "" => self.path.clone(),
            _ => format!("{}/namespaces/{namespace}", self.path),
        };
        let (all, one) = match self.name.split_once('/') {
            None => (
                format!("{place}/{}", self.name),
                format!("{place}/{}/{object}", self.name),
            ),
            Some((resource, sub)) => {
                let path = format!("{place}/{resource}/{object}/{sub}");
                (path.clone(), path)
            }
        };
        let trial = "?dryRun=All";
        Some(match verb {
            "get" => (Method::GET, one),
            "list" => (Method::GET, format!("{all}?limit=1")),
            "watch" => (Method::GET, format!("{all}?watch=1&timeoutSeconds=1")),
            "create" => (Method::POST, format!("{all}{trial}")),
            "update" => (Method::PUT, format!("{one}{trial}")),
            "patch" => (Method::PATCH, format!("{one}{trial}")),
            "delete" => (Method::DELETE, format!("{one}{trial}")),
            "deletecollection" => (Method::DELETE, format!("{all}{trial}")),
            _ => return None,
        })
    }
}

/// All resources, as discovery tells them.
pub(super) async fn resources(client: &Client) -> anyhow::Result<Vec<Served>> {
    let mut paths = vec![("/api/v1".to_owned(), String::new())];
    let groups = client.ask(Method::GET, "/apis", &[]).await?.body;
    for group in groups["groups"].as_array().context("no groups")? {
        let name = group["name"].as_str().unwrap_or_default().to_owned();
        let version = group["preferredVersion"]["groupVersion"]
            .as_str()
            .context("no version")?;
        paths.push((format!("/apis/{version}"), name));
    }
    let mut all = Vec::new();
    for (path, group) in paths {
        let answer = client.ask(Method::GET, &path, &[]).await?.body;
        let resources = answer["resources"].as_array();
        let resources = resources.with_context(|| format!("no resources of `{path}`: {answer}"))?;
        all.extend(resources.iter().filter_map(|it| served(&path, &group, it)));
    }
    ensure!(all.len() > 100, "only {} resources are served", all.len());
    Ok(all)
}

fn served(path: &str, group: &str, resource: &Value) -> Option<Served> {
    let verbs = resource["verbs"].as_array()?.iter();
    Some(Served {
        path: path.to_owned(),
        group: group.to_owned(),
        name: resource["name"].as_str()?.to_owned(),
        is_namespaced: resource["namespaced"].as_bool()?,
        verbs: verbs.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
    })
}
