//! What others do in the world: operators, `serve`, kubelets.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::json;

use super::world::World;
use crate::names::{INSTANCE_LABEL, KEY_FIELD, STARTUP_TAINT};
use crate::worker::{Announced, Attested, Claim, State, Wish, Worker, WorkerSpec, WorkerStatus};

impl World {
    /// Puts a key into the pool; it holds the tunnel address of its number.
    pub(super) fn add_key(&mut self, number: u8) {
        let text = format!(
            "[Interface]\nPrivateKey = {}\nAddress = {}/32\nDNS = 192.168.10.1\n\
             [Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\
             Endpoint = vpn.onprem.example:51820\nAllowedIPs = 192.168.10.0/24\n",
            private_key([number; 32]),
            address(number)
        );
        let name = key_name(number);
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                resource_version: Some(self.next_version()),
                labels: Some([(INSTANCE_LABEL.to_owned(), String::new())].into()),
                ..ObjectMeta::default()
            },
            data: Some([(KEY_FIELD.to_owned(), ByteString(text.into_bytes()))].into()),
            ..Secret::default()
        };
        self.keys.insert(name, secret.into());
    }

    /// An operator changes a key's document.
    pub(super) fn edit_key(&mut self, number: u8, change: impl FnOnce(&str) -> String) {
        let version = self.next_version();
        let secret = self.keys.get_mut(&key_name(number)).unwrap();
        secret.metadata.resource_version = Some(version);
        let field = secret.data.as_mut().unwrap().get_mut(KEY_FIELD).unwrap();
        let text = change(std::str::from_utf8(&field.0).unwrap());
        *field = ByteString(text.into_bytes());
    }

    /// An operator's hand slips, and the key is another instance's.
    pub(super) fn give(&mut self, number: u8, instance: &str) {
        let version = self.next_version();
        let metadata = &mut self.keys.get_mut(&key_name(number)).unwrap().metadata;
        metadata.resource_version = Some(version);
        metadata.labels = Some([(INSTANCE_LABEL.to_owned(), instance.to_owned())].into());
    }

    /// What `serve` writes.
    pub(super) fn record(&mut self, instance: &str, change: impl FnOnce(&mut WorkerStatus)) {
        if !self.workers.contains_key(instance) {
            let spec = WorkerSpec {
                instance_id: instance.to_owned(),
                wished: Wish::Running,
                forced: false,
            };
            self.workers
                .insert(instance.to_owned(), Worker::new(instance, spec).into());
        }
        let version = self.next_version();
        let now = self.now;
        let worker = self.workers.get_mut(instance).unwrap();
        worker.metadata.resource_version = Some(version);
        worker.metadata.creation_timestamp.get_or_insert(Time(now));
        worker.metadata.uid = Some(format!("uid-of-{instance}"));
        change(worker.status.get_or_insert_default());
    }

    pub(super) fn announce(&mut self, instance: &str, state: State) {
        let (account, region) = ("123456789012".to_owned(), "eu-central-1".to_owned());
        let time = self.now;
        let announced = Announced {
            state,
            account,
            region,
            time,
        };
        self.record(instance, |it| it.announced = Some(announced));
        if state == State::Terminated {
            self.workers.get_mut(instance).unwrap().spec.wished = Wish::Gone;
        }
    }

    /// A claim, as `serve` records it: a reset that was asked for stays, whatever is claimed after it.
    pub(super) fn claim(&mut self, instance: &str, kubelet_key: &str, reset: Option<u32>) {
        let time = self.now;
        self.record(instance, |it| {
            let reset = reset.or(it.claim.as_ref().and_then(|it| it.reset));
            it.attested.get_or_insert(Attested {
                role: None,
                pending_time: None,
                account: "123456789012".to_owned(),
                region: "eu-central-1".to_owned(),
                time,
            });
            it.claim = Some(Claim {
                key: "claim key".to_owned(),
                kubelet_key: kubelet_key.to_owned(),
                kubelet_version: "v1.37.2".to_owned(),
                reset,
                time,
            });
        });
    }

    /// A kubelet registers, or tells how it is.
    pub(super) fn node(&mut self, instance: &str, address: &str, ready: bool) {
        let version = self.next_version();
        let before = self.nodes.get(instance);
        let uid = before
            .and_then(|it| it.metadata.uid.clone())
            .unwrap_or_else(|| version.clone());
        let created = before.and_then(|it| it.metadata.creation_timestamp.clone());
        let created = created.unwrap_or(Time(self.now));
        let labels = before.and_then(|it| it.metadata.labels.clone()).unwrap_or_default();
        let taints = before.map_or_else(
            || json!([{"key": STARTUP_TAINT, "effect": "NoSchedule"}]),
            |it| json!(it.spec.as_ref().unwrap().taints),
        );
        let node = json!({
            "metadata": {"name": instance, "uid": uid, "resourceVersion": version, "labels": labels, "creationTimestamp": created},
            "spec": {"providerID": format!("aws:///eu-central-1a/{instance}"), "taints": taints},
            "status": {
                "addresses": [{"type": "InternalIP", "address": address}],
                "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
            },
        });
        self.nodes.insert(
            instance.to_owned(),
            serde_json::from_value::<Node>(node).unwrap().into(),
        );
    }
}

pub(super) fn address(number: u8) -> String {
    format!("10.98.0.{number}")
}

pub(super) fn private_key(bytes: [u8; 32]) -> String {
    BASE64_STANDARD.encode(bytes)
}

pub(super) fn key_name(number: u8) -> String {
    format!("key-{number:03}")
}
