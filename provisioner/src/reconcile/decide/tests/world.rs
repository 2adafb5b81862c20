//! The API server as far as decisions concern it: objects with resource versions, and actions that take effect or conflict.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dynk8s_api::Secret as Hidden;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::shared::Shared;
use crate::config::{Config, Selector};
use crate::names::{INSTANCE_LABEL, QUARANTINE_LABEL};
use crate::reconcile::decide::pool::{self, Holder, internal_addresses};
use crate::reconcile::decide::{
    Action, Case, Documents, Findings, Join, Keys, Observed, Orphan, Plan, Pulse, Pulses, Seen, Sight, Target,
    asks_for_lease, decide, elapsed, orphans, stray,
};
use crate::reconcile::render;
use crate::worker::{Token, Worker, WorkerStatus};

/// Objects of one kind, by their names.
type Objects<T> = Shared<BTreeMap<String, Shared<T>>>;

/// The object is not as it was seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict;

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) version: u64,
    pub(super) workers: Objects<Worker>,
    pub(super) keys: Objects<Secret>,
    pub(super) joins: Objects<Secret>,
    /// The tokens of `kube-system` and their instances: they can be created and deleted, not read.
    pub(super) tokens: Shared<BTreeMap<String, (String, Timestamp)>>,
    pub(super) nodes: Objects<Node>,
    /// When kubelets renewed their Leases last.
    pub(super) leases: Shared<BTreeMap<String, Timestamp>>,
    /// What whoever looks has seen of them.
    pub(super) pulses: Rc<RefCell<Pulses>>,
    pub(super) documents: Rc<RefCell<Documents>>,
    pub(super) requests: Shared<BTreeMap<String, CertificateSigningRequest>>,
    pub(super) approved: Shared<BTreeSet<String>>,
}

pub(super) fn config() -> Config {
    let config: Config = toml::from_str(include_str!("../../../../testdata/provisioner.toml")).unwrap();
    config
}

impl World {
    pub(super) fn at(time: &str) -> Self {
        Self {
            now: time.parse().unwrap(),
            ..Self::default()
        }
    }

    pub(super) fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    pub(super) fn holder(&self, key: &str) -> &str {
        match pool::holder(&self.keys[key]) {
            Holder::Free => "",
            Holder::Instance(instance) => instance,
            Holder::Quarantined => "quarantined",
            Holder::Retired => "retired",
            Holder::Unknown => "unknown",
        }
    }

    pub(super) fn keys_of(&self, instance: &str) -> Vec<&str> {
        let all = self.keys.keys().map(String::as_str);
        all.filter(|it| self.holder(it) == instance).collect()
    }

    pub(super) fn observe(&self, instance: &str) -> Observed {
        let nodes: Vec<&Node> = self.nodes.values().map(|it| &**it).collect();
        let status = |name: &str| self.workers.get(name).and_then(|it| it.status.as_ref());
        let others = || {
            let others = self.workers.keys().filter(|it| *it != instance);
            others.filter_map(|it| status(it)?.key.clone()).collect()
        };
        let chosen = status(instance).and_then(|it| it.key.as_deref());
        let undecided = self.requests.iter().filter(|(name, _)| !self.approved.contains(*name));
        Observed {
            keys: Keys::of(
                self.keys.values().map(|it| &**it),
                &mut self.documents.borrow_mut(),
                &nodes,
                instance,
                &Selector::default(),
                chosen,
                others,
            ),
            unsettled: false,
            join: self.joins.get(instance).and_then(|it| Join::of(it)),
            node: self.nodes.get(instance).map(|it| Node::clone(it)),
            pulse: None,
            requests: undecided.map(|(_, it)| it.clone()).collect(),
            seen: self.nodes.get(instance).and_then(|it| self.seen(it)),
        }
    }

    fn pulse(&self, instance: &str, observed: &Observed) -> Option<Pulse> {
        let mut pulses = self.pulses.borrow_mut();
        if !asks_for_lease(&self.workers[instance], observed) {
            pulses.forget(instance);
            return None;
        }
        let version = self.leases.get(instance).map(ToString::to_string);
        Some(pulses.note(instance, version.as_deref(), elapsed(Timestamp::UNIX_EPOCH, self.now)))
    }

    /// Every kubelet is as it should be; where one is not is told elsewhere.
    fn seen(&self, node: &Node) -> Option<Seen> {
        Some(Seen {
            target: Target::of(node, internal_addresses(node).next()?),
            since: self.now,
            times: 1,
            under_way: false,
            last: Some((self.now, Sight::Right)),
        })
    }

    pub(super) fn decide(&self, instance: &str, config: &Config, now: Timestamp, token_id: &str) -> Plan {
        let mut observed = self.observe(instance);
        observed.pulse = self.pulse(instance, &observed);
        decide(Case {
            instance: &instance.parse().unwrap(),
            worker: &self.workers[instance],
            observed: &observed,
            config,
            now,
            token_id,
        })
    }

    pub(super) fn orphans(&self) -> Vec<Orphan> {
        let (keys, joins) = (self.keys.values(), self.joins.values());
        orphans(keys.map(|it| &**it), joins.map(|it| &**it), |it| {
            self.workers.contains_key(it)
        })
    }

    /// What is done about orphans.
    pub(super) fn mend(&mut self, orphan: Orphan) {
        match orphan {
            Orphan::Instance { instance, key } => {
                let is_known = self.workers.contains_key(instance.as_str());
                if !is_known && self.holder(&key) == instance.as_str() {
                    self.record(instance.as_str(), |_| {});
                }
            }
            Orphan::Join {
                instance,
                token,
                resource_version,
            } => {
                self.tokens.remove(&render::token_name(&token));
                let name = instance.as_str();
                if version(self.joins.get(name).map(|it| &it.metadata)) == Some(resource_version) {
                    self.joins.remove(name);
                }
            }
            Orphan::Nobody { .. } => {}
        }
    }

    pub(super) fn tend(&mut self) {
        self.orphans().into_iter().for_each(|it| self.mend(it));
        self.sweep();
    }

    /// What is done about Nodes that nobody answers for.
    pub(super) fn sweep(&mut self) {
        let lost = |node: &Shared<Node>| stray(node, |it| self.workers.contains_key(it.as_str()), self.now);
        let lost: Vec<_> = self.nodes.values().filter_map(lost).collect();
        for (instance, _) in lost {
            self.nodes.remove(instance.as_str());
        }
    }

    /// Carries out one action for a Worker, which `seen` was the resource version of.
    pub(super) fn apply(&mut self, instance: &str, action: Action, seen: &mut Option<String>) -> Result<(), Conflict> {
        match action {
            Action::Save(findings) => self.save(instance, *findings, seen)?,
            Action::LabelKey { name, resource_version } => self.label(&name, instance, &resource_version)?,
            Action::GiveUpKey { name } => ensure(!["", instance].contains(&self.holder(&name)))?,
            Action::Quarantine { name, resource_version } => self.quarantine(&name, instance, &resource_version)?,
            Action::FreeKey { name, resource_version } => self.label(&name, "", &resource_version)?,
            Action::WriteJoin {
                id,
                generation,
                expires,
                replaces,
            } => {
                ensure(version(self.joins.get(instance).map(|it| &it.metadata)) == replaces)?;
                let token = Token {
                    id,
                    generation,
                    expires,
                };
                let version = self.next_version();
                let secret = Hidden::new("0123456789abcdef".to_owned());
                let join = render::join_secret(&instance.parse().unwrap(), "uid", &token, &secret, Some(version));
                self.joins.insert(instance.to_owned(), join.into());
            }
            Action::CreateToken { .. } => {
                let join = self.joins.get(instance).and_then(|it| Join::of(it));
                let token = join.ok_or(Conflict)?.token;
                self.make_token(instance, &token.id, token.expires);
            }
            Action::DeleteToken { id } => drop(self.tokens.remove(&render::token_name(&id))),
            Action::DeleteJoin { resource_version } => {
                let found = version(self.joins.get(instance).map(|it| &it.metadata));
                ensure(found.is_none() || found == Some(resource_version))?;
                self.joins.remove(instance);
            }
            Action::Approve { name, .. } => drop(self.approved.insert(name)),
            Action::PatchNode {
                resource_version,
                labels,
                taints,
            } => {
                let found = version(self.nodes.get(instance).map(|it| &it.metadata));
                ensure(found == Some(resource_version))?;
                let version = self.next_version();
                let node = self.nodes.get_mut(instance).unwrap();
                node.metadata.resource_version = Some(version);
                node.metadata.labels.get_or_insert_default().extend(labels);
                let spec = node.spec.as_mut().unwrap();
                spec.taints = taints.or(spec.taints.take());
            }
            Action::DeleteNode { uid } => {
                let found = self.nodes.get(instance).map(|it| it.metadata.uid.clone());
                ensure(found.is_none_or(|it| it == Some(uid)))?;
                self.nodes.remove(instance);
            }
            Action::DeleteWorker => {
                ensure(version(self.workers.get(instance).map(|it| &it.metadata)) == *seen)?;
                self.workers.remove(instance);
            }
        }
        Ok(())
    }

    pub(super) fn make_token(&mut self, instance: &str, id: &str, expires: Timestamp) {
        let token = (instance.to_owned(), expires);
        self.tokens.insert(render::token_name(id), token);
    }

    fn save(&mut self, instance: &str, findings: Findings, seen: &mut Option<String>) -> Result<(), Conflict> {
        ensure(version(self.workers.get(instance).map(|it| &it.metadata)) == *seen)?;
        *seen = Some(self.next_version());
        let worker = self.workers.get_mut(instance).unwrap();
        worker.metadata.resource_version.clone_from(seen);
        write(findings, worker.status.get_or_insert_default());
        Ok(())
    }

    /// What the cluster does about tokens that have expired.
    pub(super) fn clean_tokens(&mut self) {
        let now = self.now;
        self.tokens.retain(|_, (_, expires)| *expires > now);
    }

    /// An operator puts a key back into the pool.
    pub(super) fn free(&mut self, key: &str) {
        let version = self.next_version();
        let metadata = &mut self.keys.get_mut(key).unwrap().metadata;
        metadata.resource_version = Some(version);
        metadata.labels = Some([(INSTANCE_LABEL.to_owned(), String::new())].into());
    }

    fn label(&mut self, key: &str, value: &str, seen: &str) -> Result<(), Conflict> {
        ensure(self.keys[key].metadata.resource_version.as_deref() == Some(seen))?;
        let version = self.next_version();
        let metadata = &mut self.keys.get_mut(key).unwrap().metadata;
        metadata.resource_version = Some(version);
        metadata.labels = Some([(INSTANCE_LABEL.to_owned(), value.to_owned())].into());
        Ok(())
    }

    fn quarantine(&mut self, key: &str, instance: &str, seen: &str) -> Result<(), Conflict> {
        self.label(key, "", seen)?;
        let labels = &mut self.keys.get_mut(key).unwrap().metadata.labels;
        *labels = Some([(QUARANTINE_LABEL.to_owned(), instance.to_owned())].into());
        Ok(())
    }
}

fn version(metadata: Option<&ObjectMeta>) -> Option<String> {
    metadata?.resource_version.clone()
}

fn ensure(holds: bool) -> Result<(), Conflict> {
    if holds { Ok(()) } else { Err(Conflict) }
}

/// What the merge patch does that findings become.
fn write(findings: Findings, status: &mut WorkerStatus) {
    let Findings {
        phase,
        generation,
        key,
        key_fingerprint,
        inherited,
        token,
        withdrawn,
        node,
        joined,
        released,
        buried,
        conditions,
    } = findings;
    *status = WorkerStatus {
        phase,
        generation,
        key,
        key_fingerprint,
        inherited,
        token,
        withdrawn,
        node,
        joined,
        released,
        buried,
        conditions,
        ..std::mem::take(status)
    };
}

#[test]
fn findings_are_a_whole_merge_patch() {
    let mut status = super::fixture::status(&super::fixture::joined(), super::fixture::ONE).clone();
    let mut merged = serde_json::to_value(&status).unwrap();
    let Value::Object(patch) = serde_json::to_value(Findings::default()).unwrap() else {
        panic!("no object");
    };
    for (name, value) in patch {
        let merged = merged.as_object_mut().unwrap();
        if value.is_null() {
            merged.remove(&name);
        } else {
            merged.insert(name, value);
        }
    }
    write(Findings::default(), &mut status);
    assert_eq!(serde_json::from_value::<WorkerStatus>(merged).unwrap(), status);
    assert_eq!(status.key, None);
}
