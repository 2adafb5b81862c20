//! Instances come, claim, join, reset, quarrel and go, while passes see old things and crash after any call.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use test_case::test_case;

use super::scene::{address, key_name};
use super::world::{World, config};
use crate::config::Config;
use crate::reconcile::decide::Action;
use crate::worker::{Phase, State, Wish};

const INSTANCES: [&str; 5] = ["i-00000001", "i-00000002", "i-00000003", "i-00000004", "i-00000005"];
const KEYS: u8 = 3;
const STEPS: usize = 1000;
/// How many changes ago a pass may have looked.
const OLDEST_VIEW: usize = 6;

struct Simulation {
    random: StdRng,
    config: Config,
    world: World,
    past: VecDeque<World>,
    /// When an instance was announced as terminated.
    ended: BTreeMap<String, Timestamp>,
    /// The generation of the token that a Node came up with, by its UID.
    fresh_nodes: BTreeMap<String, u32>,
}

#[test_case(1)]
#[test_case(2)]
#[test_case(3)]
#[test_case(4)]
#[test_case(5)]
#[test_case(6)]
#[test_case(7)]
#[test_case(8)]
fn nothing_is_held_twice_or_lost(round: u64) {
    for seed in 8 * round..8 * (round + 1) {
        Simulation::new(seed).run();
    }
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut world = World::at("2026-12-02T00:00:00Z");
        (1..=KEYS).for_each(|it| world.add_key(it));
        Self {
            random: StdRng::seed_from_u64(seed),
            config: config(),
            past: VecDeque::from([world.clone()]),
            world,
            ended: BTreeMap::new(),
            fresh_nodes: BTreeMap::new(),
        }
    }

    fn run(mut self) {
        for _ in 0..STEPS {
            if self.random.random_bool(0.4) {
                self.happen();
            } else {
                self.pass();
            }
            self.check();
        }
        self.settle();
        self.check_the_end();
    }

    /// One thing that the world does by itself.
    fn happen(&mut self) {
        let instance = INSTANCES[self.random.random_range(0..INSTANCES.len())];
        let status = self
            .world
            .workers
            .get(instance)
            .and_then(|it| it.status.clone())
            .unwrap_or_default();
        let gone = self.ended.contains_key(instance);
        match self.random.random_range(0..10) {
            0 if !gone => self.world.announce(instance, State::Running),
            1 if !gone && self.random.random_bool(0.2) => self.world.announce(instance, State::Stopped),
            2 if !gone && self.random.random_bool(0.3) && !self.world.workers.is_empty() => {
                self.world.announce(instance, State::Terminated);
                self.ended.insert(instance.to_owned(), self.world.now);
            }
            3 | 4 if !gone => self.world.claim(instance, "kubelet key", None),
            5 if !gone && status.claim.is_some() && status.joined.is_none() => {
                self.world.claim(instance, "kubelet key", status.generation);
            }
            6 if !gone && status.claim.is_some() && self.random.random_bool(0.1) => {
                let now = self.world.now;
                self.world.record(instance, |it| it.contested = Some(now));
            }
            7 | 8 if !gone => self.kubelet(instance),
            _ => self.world.now += Duration::from_secs(self.random.random_range(0..90)),
        }
        self.remember();
    }

    /// A machine with a shown and valid token comes up, or its kubelet changes its mind.
    fn kubelet(&mut self, instance: &str) {
        let status = self
            .world
            .workers
            .get(instance)
            .and_then(|it| it.status.clone())
            .unwrap_or_default();
        let known = self.world.nodes.get(instance);
        let token = status
            .token
            .filter(|it| self.world.tokens.contains_key(&format!("bootstrap-token-{}", it.id)));
        let Some(key) = status.key.filter(|_| known.is_some() || token.is_some()) else {
            return;
        };
        let number = (1..=KEYS).find(|it| key_name(*it) == key).unwrap();
        let ready = self.random.random_bool(0.4);
        self.world.node(instance, &address(number), ready);
        if let Some(token) = token {
            let uid = self.world.nodes[instance].metadata.uid.clone().unwrap();
            self.fresh_nodes.entry(uid).or_insert(token.generation);
        }
    }

    /// One pass over one Worker, with a view that may be old, ended early by a crash or a conflict.
    fn pass(&mut self) {
        let view = self.view();
        let names: Vec<String> = view.workers.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let instance = &names[self.random.random_range(0..names.len())];
        self.carry_out(&view, instance, true);
    }

    /// What the watches show: each kind of object as it was at a time of its own.
    fn view(&mut self) -> World {
        let mut old = || &self.past[self.random.random_range(0..self.past.len())];
        World {
            workers: old().workers.clone(),
            keys: old().keys.clone(),
            joins: old().joins.clone(),
            nodes: old().nodes.clone(),
            ..World::default()
        }
    }

    fn carry_out(&mut self, view: &World, instance: &str, troubled: bool) {
        let token_id = format!("{:06}", self.random.random_range(0..1_000_000));
        let plan = view.decide(instance, &self.config, self.world.now, &token_id);
        let mut seen = view.workers[instance].metadata.resource_version.clone();
        for action in plan.actions {
            if troubled && self.random.random_bool(0.15) {
                return;
            }
            self.judge(instance, &action);
            if self.world.apply(instance, action, &mut seen).is_err() {
                return;
            }
            self.remember();
            self.check();
        }
    }

    /// Whether an action may happen now if it happens at all.
    fn judge(&self, instance: &str, action: &Action) {
        match action {
            Action::FreeKey { name, .. } if self.world.holder(name) == instance => {
                let ended = self.ended.get(instance).expect("only a gone instance loses its key");
                let rested = Duration::try_from(self.world.now.duration_since(*ended)).unwrap();
                assert!(rested >= self.config.times.key_cooldown, "{instance} after {rested:?}");
                assert!(
                    !self.world.nodes.contains_key(instance),
                    "{instance} still shows its address"
                );
            }
            Action::DeleteNode { uid } => {
                let node = self
                    .world
                    .nodes
                    .get(instance)
                    .filter(|it| it.metadata.uid.as_ref() == Some(uid));
                let status = self.world.workers.get(instance).and_then(|it| it.status.as_ref());
                let current = status.and_then(|it| it.generation);
                let reset = status.and_then(|it| it.claim.as_ref()).and_then(|it| it.reset);
                let fresh = node.is_some() && self.fresh_nodes.get(uid).copied() == current && reset != current;
                assert!(
                    !fresh || self.ended.contains_key(instance),
                    "{instance} loses a Node that is its own"
                );
            }
            _ => {}
        }
    }

    fn remember(&mut self) {
        self.past.push_back(self.world.clone());
        if self.past.len() > OLDEST_VIEW {
            self.past.pop_front();
        }
    }

    fn check(&self) {
        for instance in INSTANCES {
            let keys = self.world.keys_of(instance);
            assert!(keys.len() <= 1, "{instance} has {keys:?}");
            let tokens = self.world.tokens.values().filter(|it| *it == instance).count();
            assert!(tokens <= 1, "{instance} has {tokens} tokens");
            let status = self.world.workers.get(instance).and_then(|it| it.status.as_ref());
            let shown = status.and_then(|it| it.token.as_ref());
            assert!(
                shown.is_none() || keys.len() == 1,
                "{instance} is shown a token without having a key"
            );
        }
    }

    /// Lets everything come to rest, and time pass: longer than a cool-down, shorter than a tombstone's life.
    fn settle(&mut self) {
        for _ in 0..40 {
            for instance in INSTANCES {
                if self.world.workers.contains_key(instance) {
                    let view = self.world.clone();
                    self.carry_out(&view, instance, false);
                }
            }
            self.world.now += Duration::from_secs(20);
        }
    }

    fn check_the_end(&self) {
        let mut held = 0;
        for (instance, worker) in &self.world.workers {
            let status = worker.status.as_ref().unwrap();
            let keys = self.world.keys_of(instance);
            held += keys.len();
            let plan = self.world.decide(instance, &self.config, self.world.now, "zzzzzz");
            assert_eq!(plan.actions, [], "{instance} is at rest");
            if worker.spec.wished == Wish::Gone {
                let remains = (
                    keys.len(),
                    self.world.joins.get(instance),
                    self.world.nodes.get(instance),
                );
                assert!(matches!(remains, (0, None, None)), "{instance} left {remains:?}");
                assert!(
                    !self.world.tokens.values().any(|it| it == instance),
                    "{instance} left a token"
                );
                assert!(status.buried.is_some());
            } else if status.joined.is_some() || status.contested.is_some() {
                assert!(
                    !self.world.tokens.values().any(|it| it == instance),
                    "{instance} needs no token"
                );
            }
            let withheld = matches!(status.phase, Some(Phase::Stopped | Phase::Failed));
            assert!(
                keys.first().copied() == status.key.as_deref() || (keys.is_empty() && withheld),
                "{instance} knows its key"
            );
        }
        let free = self.world.keys_of("").len();
        assert_eq!(free + held, usize::from(KEYS), "no key is lost");
    }
}
