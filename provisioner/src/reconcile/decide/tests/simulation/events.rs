//! What the world does by itself.

use std::time::Duration;

use jiff::Timestamp;
use rand::RngExt as _;

use super::super::scene::{address, key_name};
use super::serve::Claimant;
use super::{Instance, KEYS, Simulation, accounts};
use crate::worker::{Announced, State, Wish};

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
            42..58 => self.claim(&instance, Claimant::Own, false),
            58..62 => self.claim(&instance, Claimant::Own, true),
            62..63 => self.claim(&instance, Claimant::Thief, false),
            63..78 => self.kubelet(&instance),
            78..79 => self.delete_worker(&instance),
            79..81 => self.forge(&instance),
            81..82 => self.give_back(),
            82..84 => self.step_a_clock(),
            84..86 => self.lie(&instance),
            86..88 => self.resync(),
            88..89 => self.raise_the_dead(&instance),
            89..90 => {
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
            launched: self.world.now,
            started: self.world.now,
            died: None,
            claimed: false,
            contested: false,
            keys: [].into(),
            token: None,
            disturbed: false,
            lied_about: false,
            registered: false,
            raised: false,
        };
        self.instances.insert(name.clone(), instance);
        self.emit(&name, State::Pending);
        self.emit(&name, State::Running);
    }

    fn emit(&mut self, instance: &str, state: State) {
        self.publish(instance, state, accounts::OWN);
    }

    fn publish(&mut self, instance: &str, state: State, account: &str) {
        let announced = Announced {
            state,
            account: account.to_owned(),
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

    fn stop_or_start(&mut self, instance: &str) {
        let now = self.world.now;
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
        if state == State::Running {
            known.started = now;
        }
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
        let worker = self.worker(instance);
        let joined = worker.is_some_and(|it| it.status.as_ref().is_some_and(|it| it.joined.is_some()))
            && self.world.nodes.contains_key(instance);
        let lives = self.world.leases.get(instance) == Some(&self.world.now);
        let known = self.instances.get_mut(instance).unwrap();
        if joined && lives && known.state == State::Running {
            known.lied_about = true;
            self.emit(instance, State::Terminated);
        }
    }

    /// The other account says something of an instance that is not its own.
    fn lie(&mut self, instance: &str) {
        let states = [
            State::Pending,
            State::Running,
            State::Stopping,
            State::Stopped,
            State::ShuttingDown,
            State::Terminated,
        ];
        let state = states[self.random.random_range(0..states.len())];
        self.publish(instance, state, accounts::OTHER);
    }

    /// Whoever has the disk of a dead instance raises its Node again; the cluster sees to it that it is closed.
    fn raise_the_dead(&mut self, instance: &str) {
        let known = self.instances.get_mut(instance).unwrap();
        let Some(key) = known
            .keys
            .last()
            .cloned()
            .filter(|_| known.died.is_some() && known.registered)
        else {
            return;
        };
        known.raised = true;
        self.world.node(instance, &address(number(&key)), true);
        self.world.leases.insert(instance.to_owned(), self.world.now);
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
        let ready = self.chance(0.5);
        self.instances.get_mut(instance).unwrap().registered = true;
        self.world.node(instance, &address(number(&key)), ready);
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
            if self
                .worker(&instance)
                .is_some_and(|it| it.status.as_ref().is_none_or(|it| it.buried.is_none()))
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

fn number(key: &str) -> u8 {
    (1..=KEYS).find(|it| key_name(*it) == key).unwrap()
}
