//! Instances come, claim, join, reset, quarrel, stop and go; SNS loses, doubles and reorders; another account lies; operators
//! delete Workers; two replicas with wrong clocks see old things, act at once and crash after any call. What `serve`, the loop and
//! the resync do is what their own decisions say; only the world is a model.

mod accounts;
mod cloud;
mod events;
mod invariants;
mod replicas;
mod serve;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use self::replicas::Replica;
use super::world::{World, config};
use crate::config::Config;
use crate::worker::{Announced, State};

const KEYS: u8 = 4;
/// How many things happen before all comes to rest, for one seed and for all.
const STEPS: u64 = 2000;
const EVENTS: u64 = 1_000_000;
/// How many changes ago a replica may have looked.
const OLDEST_VIEW: usize = 6;
/// After so many rounds of 20 s nobody has a token that its Worker does not name; it has not expired by then.
const TOKENS_SETTLE_BY: u64 = 10;
/// A seed to be tried alone.
const VARIABLE: &str = "DYNK8S_SIMULATION_SEED";
/// Seeds that found something, each as the world was modelled then.
const REGRESSIONS: [u64; 7] = [
    // A token was made again just after it had been deleted.
    7_251_401_749_306_052_822,
    7_251_401_749_306_052_877,
    // The model of `serve` forgot a reset when another claim came.
    3_117_333_822_284_548_126,
    3_117_333_822_284_548_230,
    // The model lied about an instance that had just been started, before its kubelet was there.
    3_797_104_259_393_729_207,
    // Another account ended an instance whose Worker had been deleted: at once, and after telling of a start.
    2_114_131_584_797_842_702,
    7_557_488_238_510_989_933,
];

struct Simulation {
    random: StdRng,
    config: Config,
    world: World,
    past: VecDeque<World>,
    replicas: [Replica; 2],
    instances: BTreeMap<String, Instance>,
    /// State changes that SNS has not delivered yet, or will deliver again.
    wire: Vec<(String, Announced)>,
    /// The generation of the token that a Node came up with, by its UID.
    fresh_nodes: BTreeMap<String, u32>,
    events: u64,
}

/// The truth about an instance.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Instance {
    state: State,
    launched: Timestamp,
    /// When it was started last.
    started: Timestamp,
    died: Option<Timestamp>,
    claimed: bool,
    contested: bool,
    /// The keys that it was handed.
    keys: BTreeSet<String>,
    /// The id and the generation of the token that it was handed last.
    token: Option<(String, u32)>,
    /// Somebody deleted its Worker.
    disturbed: bool,
    /// Somebody announced that it was terminated, and it is not.
    lied_about: bool,
    /// Its Node was there once, so that it has a certificate.
    registered: bool,
    /// Somebody raised its Node after its death.
    raised: bool,
}

#[test]
fn nothing_is_held_twice_or_lost() {
    if let Ok(seed) = std::env::var(VARIABLE) {
        Simulation::new(seed.parse().unwrap()).run();
        return;
    }
    let again: u64 = REGRESSIONS.iter().map(|it| Simulation::new(*it).run()).sum();
    let first: u64 = rand::rng().random_range(0..u64::MAX / 2);
    let (next, happened) = (AtomicU64::new(first), AtomicU64::new(again));
    let threads = thread::available_parallelism().map_or(2, Into::into);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while happened.load(Ordering::Relaxed) < EVENTS {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failing = Failing(seed);
                    happened.fetch_add(Simulation::new(seed).run(), Ordering::Relaxed);
                    std::mem::forget(failing);
                }
            });
        }
    });
    assert!(happened.into_inner() >= EVENTS);
}

#[test]
fn two_leaders_give_two_hundred_workers_one_key_each() {
    const MANY: u8 = 200;
    let mut simulation = Simulation::with_keys(1, MANY);
    let instances: Vec<String> = (0..MANY).map(|it| format!("i-{it:08x}")).collect();
    for instance in &instances {
        simulation.world.announce(instance, State::Running);
    }
    simulation.past = [simulation.world.clone()].into();
    let mut acts = 0;
    while !simulation.world.keys_of("").is_empty() {
        simulation.act();
        acts += 1;
        assert!(acts < 100_000, "{:?} are left", simulation.world.keys_of(""));
    }
    for instance in &instances {
        assert_eq!(simulation.world.keys_of(instance).len(), 1, "{instance}");
    }
}

/// Both accounts may publish.
fn both() -> Config {
    let mut config = config();
    config.node_groups[0].accounts.push(accounts::OTHER.to_owned());
    config
}

/// Says which seed it was, if it is dropped.
struct Failing(u64);

impl Drop for Failing {
    #[expect(clippy::print_stderr, reason = "whoever reads of the failure needs it")]
    fn drop(&mut self) {
        eprintln!("to see it again: {VARIABLE}={}", self.0);
    }
}

impl Simulation {
    fn new(seed: u64) -> Self {
        Self::with_keys(seed, KEYS)
    }

    fn with_keys(seed: u64, keys: u8) -> Self {
        let mut world = World::at("2026-12-02T00:00:00Z");
        (1..=keys).for_each(|it| world.add_key(it));
        Self {
            random: StdRng::seed_from_u64(seed),
            config: both(),
            past: VecDeque::from([world.clone()]),
            world,
            replicas: [Replica::default(), Replica::default()],
            instances: BTreeMap::new(),
            wire: Vec::new(),
            fresh_nodes: BTreeMap::new(),
            events: 0,
        }
    }

    /// How much has happened.
    fn run(mut self) -> u64 {
        while self.events < STEPS {
            if self.chance(0.3) {
                self.happen();
            } else {
                self.act();
            }
            self.events += 1;
            self.check();
        }
        self.settle();
        self.check_the_end();
        self.events
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    fn remember(&mut self) {
        if !self.chance(0.6) {
            return;
        }
        self.past.push_back(self.world.clone());
        if self.past.len() > OLDEST_VIEW {
            self.past.pop_front();
        }
    }

    /// Lets everything come to rest, and time pass: longer than a cool-down, shorter than a tombstone's life.
    fn settle(&mut self) {
        self.deliver_the_rest();
        self.end_passes();
        for round in 0..40 {
            // In the end time stands still, so that nothing new comes up.
            self.pass_time(if round < 36 { 20 } else { 0 });
            self.world.tend();
            let names: Vec<String> = self.world.workers.keys().cloned().collect();
            for instance in names {
                self.pass_to_its_end(&instance);
            }
            if round == TOKENS_SETTLE_BY {
                self.check_tokens();
            }
        }
    }
}
