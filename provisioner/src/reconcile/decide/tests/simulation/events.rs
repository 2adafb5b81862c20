//! What the world does by itself.

use std::time::Duration;

use jiff::Timestamp;
use rand::RngExt as _;

use super::super::scene::{address, key_name};
use super::{Instance, KEYS, Simulation};
use crate::announce::decide::{Decision, decide};
use crate::worker::{Announced, State, Wish, WorkerStatus};

/// How many instances live at the same time.
const MOST: usize = 6;

impl Simulation {
    pub(super) fn happen(&mut self) {
        let names: Vec<String> = self.instances.keys().cloned().collect();
        if names.is_empty() || (self.living() < MOST && self.chance(0.1)) {
            return self.launch();
        }
        let instance = names[self.random.random_range(0..names.len())].clone();
        match self.random.random_range(0..100) {
            0..30 => self.deliver(),
            30..36 => self.stop_or_start(&instance),
            36..42 => self.terminate(&instance),
            42..58 => self.claim(&instance, false),
            58..62 => self.claim(&instance, true),
            62..63 => self.contest(&instance),
            63..78 => self.kubelet(&instance),
            78..79 => self.delete_worker(&instance),
            79..81 => self.forge(&instance),
            81..82 => self.give_back(),
            82..85 => self.step_a_clock(),
            85..86 => {
                let hours = self.random.random_range(1..30);
                self.pass_time(hours * 3600);
            }
            _ => {
                let seconds = self.random.random_range(0..90);
                self.pass_time(seconds);
            }
        }
        self.remember();
    }

    fn living(&self) -> usize {
        self.instances.values().filter(|it| it.died.is_none()).count()
    }

    fn launch(&mut self) {
        let number = self.world.next_version().parse::<u32>().unwrap();
        let name = format!("i-{number:08x}");
        let instance = Instance {
            state: State::Running,
            died: None,
            claimed: false,
            contested: false,
            keys: [].into(),
            token: None,
            disturbed: false,
            lied_about: false,
        };
        self.instances.insert(name.clone(), instance);
        self.emit(&name, State::Pending);
        self.emit(&name, State::Running);
    }

    fn emit(&mut self, instance: &str, state: State) {
        let announced = Announced {
            state,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            time: self.world.now,
        };
        self.wire.push((instance.to_owned(), announced));
    }

    /// Any of the messages that are under way arrives, maybe to arrive again; some are lost.
    fn deliver(&mut self) {
        if self.wire.is_empty() {
            return;
        }
        let index = self.random.random_range(0..self.wire.len());
        let (instance, announced) = self.wire[index].clone();
        if self.chance(0.7) {
            self.wire.swap_remove(index);
        }
        if !self.chance(0.1) {
            self.announce(&instance, &announced);
        }
    }

    /// What `serve` does about a message.
    fn announce(&mut self, instance: &str, announced: &Announced) {
        loop {
            let worker = self.world.workers.get(instance).map(|it| &**it);
            match decide(worker, announced, &self.config, self.world.now) {
                Decision::Create(wish) => {
                    self.world.record(instance, |_| {});
                    self.world.workers.get_mut(instance).unwrap().spec.wished = wish;
                }
                Decision::Bury => {
                    self.world.record(instance, |_| {});
                    self.world.workers.get_mut(instance).unwrap().spec.wished = Wish::Gone;
                }
                Decision::Record => {
                    return self.world.record(instance, |it| it.announced = Some(announced.clone()));
                }
                Decision::Ignore(_) | Decision::Dispute => return,
            }
        }
    }

    fn stop_or_start(&mut self, instance: &str) {
        let known = self.instances.get_mut(instance).unwrap();
        if known.lied_about {
            return;
        }
        known.state = match known.state {
            State::Running => State::Stopped,
            State::Stopped => State::Running,
            _ => return,
        };
        let state = known.state;
        self.emit(instance, state);
    }

    fn terminate(&mut self, instance: &str) {
        let now = self.world.now;
        let known = self.instances.get_mut(instance).unwrap();
        if known.died.is_none() {
            known.died = Some(now);
            known.state = State::Terminated;
            self.emit(instance, State::ShuttingDown);
            self.emit(instance, State::Terminated);
        }
    }

    /// Somebody who may publish to the topic lies about an instance whose kubelet lives, and goes on to live: the lie about
    /// one that is stopped, or has only just been started, nobody but EC2 could tell from the truth.
    fn forge(&mut self, instance: &str) {
        let joined = self.status(instance).joined.is_some() && self.world.nodes.contains_key(instance);
        let lives = self.world.leases.get(instance) == Some(&self.world.now);
        let known = self.instances.get_mut(instance).unwrap();
        if joined && lives && known.state == State::Running {
            known.lied_about = true;
            self.emit(instance, State::Terminated);
        }
    }

    fn status(&self, instance: &str) -> WorkerStatus {
        let worker = self.world.workers.get(instance);
        worker.and_then(|it| it.status.clone()).unwrap_or_default()
    }

    /// A running instance claims as far as `serve` lets it, and gets what is there for it.
    fn claim(&mut self, instance: &str, resets: bool) {
        let known = &self.instances[instance];
        let status = self.status(instance);
        let worker = self.world.workers.get(instance);
        let ends = status
            .announced
            .as_ref()
            .is_some_and(|it| !matches!(it.state, State::Pending | State::Running));
        let refused = ends
            || known.state != State::Running
            || known.contested
            || status.contested.is_some()
            || status.joined.is_some()
            || worker.is_some_and(|it| it.spec.wished == Wish::Gone);
        if refused {
            return;
        }
        self.instances.get_mut(instance).unwrap().claimed = true;
        let (Some(key), Some(token)) = (status.key, status.token) else {
            return self.world.claim(instance, "kubelet key", None);
        };
        if resets {
            return self.world.claim(instance, "kubelet key", Some(token.generation));
        }
        if token.expires > self.world.now && self.world.holder(&key) == instance {
            let known = self.instances.get_mut(instance).unwrap();
            known.keys.insert(key);
            known.token = Some((token.id, token.generation));
        }
    }

    fn contest(&mut self, instance: &str) {
        let status = self.status(instance);
        if status.claim.is_some() && status.joined.is_none() && self.instances[instance].died.is_none() {
            let now = self.world.now;
            self.instances.get_mut(instance).unwrap().contested = true;
            self.world.record(instance, |it| it.contested = Some(now));
        }
    }

    /// A machine with a valid token comes up, or its kubelet changes its mind.
    fn kubelet(&mut self, instance: &str) {
        let known = &self.instances[instance];
        if known.state != State::Running {
            return;
        }
        let token = known.token.clone();
        let valid = token.filter(|(id, _)| self.world.tokens.contains_key(&format!("bootstrap-token-{id}")));
        let (Some(key), true) = (
            known.keys.last().cloned(),
            valid.is_some() || self.world.nodes.contains_key(instance),
        ) else {
            return;
        };
        let number = (1..=KEYS).find(|it| key_name(*it) == key).unwrap();
        let ready = self.chance(0.5);
        self.world.node(instance, &address(number), ready);
        self.world.leases.insert(instance.to_owned(), self.world.now);
        if let Some((_, generation)) = valid {
            let uid = self.world.nodes[instance].metadata.uid.clone().unwrap();
            self.fresh_nodes.entry(uid).or_insert(generation);
        }
    }

    /// An operator's hand slips. What is said to be gone or to be stolen he leaves alone.
    fn delete_worker(&mut self, instance: &str) {
        let worker = self.world.workers.get(instance);
        let known = self.instances.get_mut(instance).unwrap();
        if worker.is_some_and(|it| it.spec.wished == Wish::Running)
            && known.died.is_none()
            && !known.contested
            && !known.lied_about
        {
            known.disturbed = true;
            self.world.workers.remove(instance);
        }
    }

    /// An operator has changed a key that was in quarantine, some time after its instance died.
    fn give_back(&mut self) {
        let quarantined = self.world.keys_of("quarantined");
        let Some(key) = quarantined.first().map(|it| (*it).to_owned()) else {
            return;
        };
        let rested = |it: &&Instance| {
            it.died
                .is_some_and(|it| self.world.now.duration_since(it).as_secs() > 180)
        };
        let mut users = self.instances.values().filter(|it| it.keys.contains(&key));
        if users.all(|it| rested(&it)) {
            self.world.free(&key);
        }
    }

    pub(super) fn pass_time(&mut self, seconds: u64) {
        self.world.now += Duration::from_secs(seconds);
        let now = self.world.now;
        for (instance, renewed) in self.world.leases.iter_mut() {
            if self
                .instances
                .get(instance)
                .is_some_and(|it| it.state == State::Running)
            {
                *renewed = now;
            }
        }
        self.world.clean_tokens();
    }

    /// In the end every message has arrived, or the operator has said what AWS could not.
    pub(super) fn deliver_the_rest(&mut self) {
        for (instance, announced) in std::mem::take(&mut self.wire) {
            self.announce(&instance, &announced);
        }
        let dead: Vec<String> = self.dead().map(str::to_owned).collect();
        for instance in dead {
            if let Some(worker) = self.world.workers.get(&instance)
                && worker.spec.wished == Wish::Running
            {
                self.world.record(&instance, |_| {});
                let spec = &mut self.world.workers.get_mut(&instance).unwrap().spec;
                (spec.wished, spec.forced) = (Wish::Gone, true);
            }
        }
    }

    pub(super) fn dead(&self) -> impl Iterator<Item = &str> {
        let dead = self.instances.iter().filter(|(_, it)| it.died.is_some());
        dead.map(|(name, _)| name.as_str())
    }

    pub(super) fn died(&self, instance: &str) -> Option<Timestamp> {
        self.instances.get(instance)?.died
    }
}
