//! What must be true after each step, and in the end.

use super::Simulation;
use crate::reconcile::decide::{Action, Join};
use crate::reconcile::render;
use crate::worker::{Phase, Wish};

/// How long a WireGuard session outlives its instance, in seconds.
const SESSION: i64 = 180;

impl Simulation {
    /// Whether a call may happen now if it happens at all.
    pub(super) fn judge(&self, instance: &str, action: &Action) {
        match action {
            Action::FreeKey { name, .. } if self.world.holder(name) == instance => {
                let known = self.instances.get(instance).filter(|it| it.keys.contains(name));
                // Who was never handed it may lose it at any time.
                let Some(known) = known else { return };
                let died = known
                    .died
                    .expect("only a gone instance loses the key that it was handed");
                let rested = self.world.now.duration_since(died).as_secs();
                assert!(rested >= SESSION, "{instance} after {rested} s: {known:?}");
                assert!(
                    known.raised || !self.world.nodes.contains_key(instance),
                    "{instance} still shows its address"
                );
            }
            Action::CreateToken { .. } => {
                let known = &self.instances[instance];
                assert!(known.claimed, "{instance} has proven nothing");
            }
            Action::DeleteNode { uid } if self.died(instance).is_none() => {
                let node = self.world.nodes.get(instance);
                let node = node.filter(|it| it.metadata.uid.as_ref() == Some(uid));
                let status = self.world.workers.get(instance).and_then(|it| it.status.as_ref());
                let current = status.and_then(|it| it.generation);
                let reset = status.and_then(|it| it.claim.as_ref()).and_then(|it| it.reset);
                let fresh = node.is_some() && self.fresh_nodes.get(uid).copied() == current && reset != current;
                let disturbed = self.instances[instance].disturbed;
                assert!(!fresh || disturbed, "{instance} loses a Node that is its own");
            }
            _ => {}
        }
    }

    /// Every token is that of its Worker, or kept for it. Whose Worker was deleted has forgotten what to delete again: there it expires.
    pub(super) fn check_tokens(&self) {
        for (name, (instance, _)) in self
            .world
            .tokens
            .iter()
            .filter(|(_, (it, _))| !self.instances[it].disturbed)
        {
            let worker = self.world.workers.get(instance);
            let shown = worker.and_then(|it| it.status.as_ref()?.token.clone());
            let kept = self.world.joins.get(instance).and_then(|it| Join::of(it));
            let mut known = shown.into_iter().chain(kept.map(|it| it.token));
            assert!(
                known.any(|it| render::token_name(&it.id) == *name),
                "{instance} has {name}"
            );
        }
    }

    pub(super) fn check(&self) {
        let holders: Vec<(&str, &str)> = self
            .world
            .keys
            .keys()
            .map(|it| (it.as_str(), self.world.holder(it)))
            .collect();
        for (name, instance) in &self.instances {
            let in_use = instance
                .died
                .is_none_or(|it| self.world.now.duration_since(it).as_secs() < SESSION);
            for key in instance.keys.iter().filter(|_| in_use) {
                let (_, holder) = holders.iter().find(|it| it.0 == key).unwrap();
                assert!(
                    [name, "quarantined"].contains(holder),
                    "{name} uses {key}, which is {holder}'s"
                );
            }
            let held = holders.iter().filter(|it| it.1 == name).count();
            assert!(held <= 1 || instance.disturbed, "{name} has {held} keys");
        }
        assert!(holders.iter().all(|it| it.1 != "unknown"), "lost: {holders:?}");
    }

    pub(super) fn check_the_end(&self) {
        for (instance, worker) in self.world.workers.iter() {
            let plan = self.world.decide(instance, &self.config, self.world.now, "zzzzzz");
            assert_eq!(plan.actions, [], "{instance} is at rest");
            let status = worker.status.as_ref().unwrap();
            let needs_none = status.joined.is_some() || status.contested.is_some();
            let has_token = self.world.tokens.values().any(|(it, _)| it == instance);
            assert!(!(needs_none && has_token), "{instance}: {:?}", status.phase);
        }
        for instance in self.dead() {
            let keys = self.world.keys_of(instance).len();
            let (join, node) = (self.world.joins.get(instance), self.world.nodes.get(instance));
            assert!(
                (keys, join.is_none(), node.is_none()) == (0, true, true),
                "{instance} left {keys} keys, {join:?}, {node:?}"
            );
            let tokens = &self.world.tokens;
            assert!(
                !tokens.values().any(|(it, _)| it == instance),
                "{instance} left a token"
            );
            if let Some(worker) = self.world.workers.get(instance) {
                assert_eq!(worker.spec.wished, Wish::Gone);
                assert_eq!(worker.status.as_ref().unwrap().phase, Some(Phase::Gone), "{instance}");
            }
        }
        for key in self.world.keys.keys() {
            let holder = self.world.holder(key);
            let lives = self.world.workers.contains_key(holder);
            assert!(lives || ["", "quarantined"].contains(&holder), "{key} is {holder}'s");
        }
    }
}
