//! What `serve` does, by its own decisions, in the world: messages of either account, and claims of machines and of thieves.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dynk8s_api::PublicKey;
use serde_json::{Value, json};

use super::{Simulation, accounts};
use crate::announce::decide::{self as announce, Decision};
use crate::claim::decide::tests::case;
use crate::claim::decide::{self as claim, Change, Material, Step, material};
use crate::proof::document::Documented;
use crate::proof::{Asked, Identity};
use crate::reconcile::decide::Join;
use crate::worker::{Announced, State, Wish, Worker, WorkerStatus};

/// How many writes a claim may need.
const ATTEMPTS: usize = 12;

/// Whose keys a claim is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimant {
    /// The machine itself.
    Own,
    /// Somebody who can prove that he is the machine, and has other keys.
    Thief,
}

impl Simulation {
    /// A message, by the steps that it takes.
    pub(super) fn announce(&mut self, instance: &str, announced: &Announced) {
        loop {
            let worker = self.world.workers.get(instance).map(|it| &**it);
            match announce::decide(worker, announced, &self.config, self.world.now) {
                Decision::Create(wish) => self.wish(instance, wish),
                Decision::Bury => self.wish(instance, Wish::Gone),
                Decision::Record => {
                    return self.world.record(instance, |it| it.announced = Some(announced.clone()));
                }
                Decision::Dispute => {
                    let now = self.world.now;
                    return self.world.record(instance, |it| it.disputed = Some(now));
                }
                Decision::Ignore(_) => return,
            }
            // It crashes; SNS delivers again what was not answered.
            if self.chance(0.05) {
                return self.wire.push((instance.to_owned(), announced.clone()));
            }
        }
    }

    pub(super) fn wish(&mut self, instance: &str, wish: Wish) {
        self.world.record(instance, |_| {});
        self.world.workers.get_mut(instance).unwrap().spec.wished = wish;
    }

    /// A running machine is claimed for, and gets what is there for it.
    pub(super) fn claim(&mut self, instance: &str, claimant: Claimant, resets: bool) {
        let known = &self.instances[instance];
        if known.state != State::Running {
            return;
        }
        let given = known.token.as_ref().map(|(_, generation)| *generation);
        let asked = self.asked(instance, claimant, given.filter(|_| resets));
        let mut proven = None;
        for _ in 0..ATTEMPTS {
            // The connection is lost, or the replica is.
            if self.chance(0.03) {
                return;
            }
            let worker = self.world.workers.get(instance).map(|it| &**it);
            match claim::decide(worker, &asked, proven.as_ref(), &self.config, self.world.now) {
                Step::Prove => proven = Some(self.identity(instance)),
                Step::Create => self.wish(instance, Wish::Running),
                Step::Record(change) => self.write(instance, &change),
                Step::Serve(generation) => return self.hand_out(instance, &asked, generation),
                Step::Refuse(..) => return,
            }
        }
        panic!("a claim of {instance} comes to no end");
    }

    fn write(&mut self, instance: &str, change: &Change) {
        let known = self.instances.get_mut(instance).unwrap();
        known.claimed |= matches!(change, Change::Bound(..));
        known.contested |= matches!(change, Change::Contested(_));
        let patch = change.patch();
        self.world.record(instance, |status| {
            let mut merged = json!(status);
            merge(&mut merged, &patch);
            *status = serde_json::from_value::<WorkerStatus>(merged).unwrap();
        });
    }

    /// What is promised is waited for in a watch, and read at the last moment.
    fn hand_out(&mut self, instance: &str, asked: &Asked, generation: u32) {
        let view = self.view();
        let seen = view.workers.get(instance).map(|it| &**it);
        let Some(Material::There { key, token }) = material(seen, asked, generation, self.world.now) else {
            return;
        };
        let kept = self.world.joins.get(instance).and_then(|it| Join::of(it));
        let is_kept = kept.is_some_and(|it| (it.token.id.as_str(), it.token.generation) == (&token, generation));
        if is_kept && self.world.keys.contains_key(&key) && self.world.holder(&key) == instance {
            let known = self.instances.get_mut(instance).unwrap();
            known.keys.insert(key);
            known.token = Some((token, generation));
        }
    }

    fn asked(&self, instance: &str, claimant: Claimant, reset: Option<u32>) -> Asked {
        let mut bytes = [u8::from(claimant == Claimant::Thief); 32];
        bytes[..instance.len()].copy_from_slice(instance.as_bytes());
        let sender: PublicKey = BASE64_STANDARD.encode(bytes).parse().unwrap();
        let mut asked = case::asked(sender);
        asked.request.reset = reset;
        asked.document = Some(Documented {
            account: accounts::OWN.to_owned(),
            pending: self.instances[instance].started,
        });
        asked
    }

    fn identity(&self, instance: &str) -> Identity {
        Identity {
            pending: Some(self.instances[instance].started),
            ..case::identity()
        }
    }

    pub(super) fn worker(&self, instance: &str) -> Option<&Worker> {
        self.world.workers.get(instance).map(|it| &**it)
    }
}

/// RFC 7386, which the API server follows.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        return target.clone_from(patch);
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (name, value) in fields {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}
