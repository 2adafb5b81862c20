//! What each of the two accounts may do, and that it may do nothing else: as the API server lists it, and as it answers when it is
//! asked for each verb of each resource that it serves. What policies refuse of the rest has tests of its own.

mod client;
mod review;
mod served;
mod table;

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use reqwest::{Method, StatusCode};

use self::client::Client;
use self::review::Rule;
use self::served::Served;
use self::table::{RIGHTS, Right, WORST};
use crate::stage::{Stage, Who};

const ACCOUNTS: [(Who, &str); 2] = [(Who::Serve, "serve"), (Who::Reconcile, "reconcile")];
/// More than a few, or the test does not ask what it means to ask.
const MANY: usize = 1000;

/// The rights of an account in a namespace, those of the whole cluster among them.
fn expected(who: Who, namespace: &str) -> BTreeSet<Rule> {
    let own = RIGHTS
        .iter()
        .filter(|it| it.who == who && ["", namespace].contains(&it.namespace));
    own.flat_map(Right::rules).collect()
}

/// A right that somebody adds to the manifests, to one account or in one namespace, must be added to the table too.
pub(crate) fn each_account_has_exactly_its_rights(stage: &Stage) -> anyhow::Result<()> {
    for namespace in namespaces(stage)? {
        let everybodys = review::of(stage, Who::Admin, &namespace, review::NO_MORE_THAN_OTHERS)?;
        for (who, _) in ACCOUNTS {
            let mut own = review::of(stage, who, &namespace, "")?;
            own.retain(|it| !everybodys.contains(it));
            let expected = expected(who, &namespace);
            let more: Vec<_> = own.difference(&expected).collect();
            let missing: Vec<_> = expected.difference(&own).collect();
            ensure!(
                more.is_empty() && missing.is_empty(),
                "{who:?} in `{namespace}`: not in the table {more:?}; only in the table {missing:?}"
            );
        }
    }
    Ok(())
}

/// Everything that there is, tried: what is in the table is not denied, and all else is.
pub(crate) fn each_right_holds_and_no_other(stage: &Stage) -> anyhow::Result<()> {
    let namespaces = namespaces(stage)?;
    for (who, half) in ACCOUNTS {
        let mut everybodys = BTreeSet::new();
        for namespace in &namespaces {
            everybodys.extend(review::of(stage, Who::Admin, namespace, review::NO_MORE_THAN_OTHERS)?);
        }
        let (client, namespaces) = (Client::log_in(half)?, namespaces.clone());
        let trying = async move {
            Trying {
                who,
                client,
                namespaces,
                everybodys,
            }
            .all()
            .await
        };
        stage.machine.wait_for(trying)??;
    }
    Ok(())
}

struct Trying {
    who: Who,
    client: Client,
    namespaces: Vec<String>,
    everybodys: BTreeSet<Rule>,
}

impl Trying {
    async fn all(&self) -> anyhow::Result<()> {
        let served = served::resources(&self.client).await?;
        let mut denied = BTreeSet::new();
        let mut granted = 0;
        for resource in &served {
            for namespace in self.places(resource) {
                for verb in &resource.verbs {
                    let rule = (verb.clone(), resource.full_name(), String::new());
                    if self.everybodys.contains(&rule) {
                        continue;
                    }
                    let may = expected(self.who, namespace).contains(&rule);
                    self.try_it(resource, verb, namespace, "", may).await?;
                    if may {
                        granted += 1;
                    } else {
                        denied.insert((verb.as_str(), resource.full_name(), namespace.to_owned()));
                    }
                }
            }
        }
        ensure!(denied.len() > MANY, "only {} requests were denied", denied.len());
        for (_, verb, resource, namespace) in WORST.iter().filter(|it| it.0 == self.who) {
            let key = (*verb, (*resource).to_owned(), (*namespace).to_owned());
            ensure!(denied.contains(&key), "nobody has tried {key:?}");
        }
        granted += self.named(&served).await?;
        let rights = RIGHTS
            .iter()
            .filter(|it| it.who == self.who && !it.resource.ends_with("/signers"));
        let rights = rights.map(|it| it.rules().count()).sum::<usize>();
        ensure!(granted == rights, "{granted} of {rights} rights were tried");
        self.becomes_nobody_else().await
    }

    /// The namespaces that a resource is asked for in, or none of them.
    fn places<'a>(&'a self, resource: &Served) -> Vec<&'a str> {
        let all = [""].into_iter();
        if resource.is_namespaced {
            all.chain(self.namespaces.iter().map(String::as_str)).collect()
        } else {
            all.collect()
        }
    }

    /// Rights to one object only; how many.
    async fn named(&self, served: &[Served]) -> anyhow::Result<usize> {
        let mut granted = 0;
        for right in RIGHTS.iter().filter(|it| it.who == self.who && !it.name.is_empty()) {
            // Nothing is served by this name: it stands for those who sign.
            let Some(resource) = served.iter().find(|it| it.full_name() == right.resource) else {
                continue;
            };
            for verb in right.verbs.split(' ') {
                self.try_it(resource, verb, right.namespace, right.name, true).await?;
                granted += 1;
            }
        }
        Ok(granted)
    }

    async fn try_it(
        &self,
        resource: &Served,
        verb: &str,
        namespace: &str,
        name: &str,
        may: bool,
    ) -> anyhow::Result<()> {
        let Some((method, path)) = resource.request(verb, namespace, name) else {
            return Ok(());
        };
        let answer = self.client.ask(method.clone(), &path, &[]).await?;
        let is_denied = answer.is_denied(verb, &resource.name);
        ensure!(
            is_denied != may && answer.status != StatusCode::UNAUTHORIZED,
            "{:?}, {method} {path}: {} {}",
            self.who,
            answer.status,
            answer.body
        );
        Ok(())
    }

    /// Not an administrator, not a node, not the other half.
    async fn becomes_nobody_else(&self) -> anyhow::Result<()> {
        for user in [
            "kubernetes-admin",
            "system:node:i-0123456789abcdef0",
            "system:serviceaccount:dynk8s-system:dynk8s-provisioner-reconcile",
            "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
        ] {
            let headers = [("impersonate-user", user), ("impersonate-group", "system:masters")];
            let answer = self.client.ask(Method::GET, "/api/v1/nodes", &headers).await?;
            let said = answer.body["message"].as_str().unwrap_or_default();
            let is_denied = answer.status == StatusCode::FORBIDDEN && said.contains("cannot impersonate");
            ensure!(is_denied, "{:?} as `{user}`: {}", self.who, answer.body);
        }
        Ok(())
    }
}

fn namespaces(stage: &Stage) -> anyhow::Result<Vec<String>> {
    let all = stage.json(&["get", "namespaces"])?;
    let all = all["items"].as_array().context("no namespaces")?;
    Ok(all
        .iter()
        .filter_map(|it| it["metadata"]["name"].as_str().map(str::to_owned))
        .collect())
}
