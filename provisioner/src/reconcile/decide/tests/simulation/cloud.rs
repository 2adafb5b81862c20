//! EC2, as a replica asks it: it knows a new instance late, and forgets a terminated one after an hour.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;

use super::{Simulation, accounts};
use crate::reconcile::decide::elapsed;
use crate::resync::decide::{decide, subjects};
use crate::worker::tests::described;
use crate::worker::{Described, Wish, Worker};

const KNOWN_WITHIN: Duration = Duration::from_mins(5);
const FORGOTTEN_AFTER: Duration = Duration::from_hours(1);

impl Simulation {
    /// A resync of one replica, from what it has seen of the Workers.
    pub(super) fn resync(&mut self) {
        let index = self.random.random_range(0..2);
        let view = self.view();
        let workers: Vec<Arc<Worker>> = view.workers.values().map(|it| Arc::new(Worker::clone(it))).collect();
        let asked = subjects(&workers, &self.config, true);
        let asked: Vec<_> = asked.into_iter().filter(|it| it.may_be_of(accounts::OWN)).collect();
        let found = self.found();
        let replica = &mut self.replicas[index];
        let verdict = decide(&asked, &found, Some(&mut replica.missed), self.world.now);
        for (instance, described) in verdict.describe {
            if self.world.workers.contains_key(&instance) {
                self.world.record(&instance, |it| it.described = Some(described));
            }
        }
        for (instance, _) in verdict.gone {
            if self.world.workers.contains_key(&instance) {
                self.wish(&instance, Wish::Gone);
            }
        }
    }

    /// What EC2 knows now.
    fn found(&mut self) -> BTreeMap<String, Described> {
        let now = self.world.now;
        let mut found = BTreeMap::new();
        for (name, instance) in &self.instances {
            let is_new = elapsed(instance.launched, now) < KNOWN_WITHIN;
            let is_forgotten = instance.died.is_some_and(|it| elapsed(it, now) >= FORGOTTEN_AFTER);
            if is_forgotten || (is_new && self.random.random_bool(0.5)) {
                continue;
            }
            let described = Described {
                state: instance.state,
                time: now,
                ..described()
            };
            found.insert(name.clone(), described);
        }
        found
    }
}
