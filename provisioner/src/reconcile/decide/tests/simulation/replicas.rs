//! Two replicas of the loop, each in the midst of a pass of its own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use rand::RngExt as _;

use super::Simulation;
use crate::reconcile::decide::tests::world::World;
use crate::reconcile::decide::{Action, PASS, Pulses, elapsed};
use crate::resync::decide::Missed;

/// How wrong a clock may be, in seconds: a cool-down is longer than a WireGuard session by twice as much.
const WRONG: i64 = 30;

#[derive(Default)]
pub(super) struct Replica {
    /// By how much its clock is ahead.
    ahead: SignedDuration,
    pulses: Rc<RefCell<Pulses>>,
    pub(super) missed: Missed,
    pass: Option<Pass>,
}

struct Pass {
    instance: String,
    actions: VecDeque<Action>,
    seen: Option<String>,
    began: Timestamp,
    /// The token whose join Secret it has written itself, so that it makes it without another look.
    wrote: Option<(String, Timestamp)>,
}

impl Simulation {
    /// A replica is started again, on a host with another clock.
    pub(super) fn step_a_clock(&mut self) {
        let index = self.random.random_range(0..2);
        let ahead = SignedDuration::from_secs(self.random.random_range(-WRONG..=WRONG));
        self.replicas[index] = Replica {
            ahead,
            pass: self.replicas[index].pass.take(),
            ..Replica::default()
        };
    }

    /// One call of one replica, or a new pass of it.
    pub(super) fn act(&mut self) {
        let index = self.random.random_range(0..2);
        match self.replicas[index].pass.take() {
            Some(pass) => self.replicas[index].pass = self.go_on(pass),
            None if self.chance(0.05) => self.tend(),
            None => self.replicas[index].pass = self.begin(index),
        }
    }

    fn begin(&mut self, index: usize) -> Option<Pass> {
        let view = World {
            now: self.world.now,
            pulses: Rc::clone(&self.replicas[index].pulses),
            ..self.view()
        };
        let count = view.workers.len();
        if count == 0 {
            return None;
        }
        let (instance, worker) = view.workers.iter().nth(self.random.random_range(0..count))?;
        let seen = worker.metadata.resource_version.clone();
        let now = self.world.now + self.replicas[index].ahead;
        let actions = self.plan(&view, instance, now);
        Some(Pass {
            instance: instance.clone(),
            actions,
            seen,
            began: self.world.now,
            wrote: None,
        })
    }

    fn plan(&mut self, view: &World, instance: &str, now: Timestamp) -> VecDeque<Action> {
        let token_id = format!("{:06}", self.random.random_range(0..1_000_000));
        view.decide(instance, &self.config, now, &token_id).actions.into()
    }

    /// The next call, unless the replica crashes before it or the call ends in a conflict.
    fn go_on(&mut self, mut pass: Pass) -> Option<Pass> {
        let action = pass.actions.pop_front()?;
        if self.chance(0.1) || self.is_overdue(&pass, &action) {
            return None;
        }
        self.judge(&pass.instance, &action);
        let written = match &action {
            Action::WriteJoin { id, expires, .. } => Some((id.clone(), *expires)),
            _ => None,
        };
        match (&action, &pass.wrote) {
            (Action::CreateToken { .. }, Some((id, expires))) => self.world.make_token(&pass.instance, id, *expires),
            _ => self.world.apply(&pass.instance, action, &mut pass.seen).ok()?,
        }
        pass.wrote = pass.wrote.or(written);
        self.remember();
        Some(pass)
    }

    /// A pass ends after a while, which matters to tokens; all else has to be safe even from one that was frozen for hours.
    fn is_overdue(&self, pass: &Pass, action: &Action) -> bool {
        let took = elapsed(pass.began, self.world.now);
        matches!(action, Action::CreateToken { .. }) && took > PASS
    }

    /// Both go on with what they had begun.
    pub(super) fn end_passes(&mut self) {
        for index in 0..2 {
            while let Some(pass) = self.replicas[index].pass.take() {
                self.replicas[index].pass = self.go_on(pass);
            }
        }
    }

    fn tend(&mut self) {
        let orphans = self.view().orphans();
        if orphans.is_empty() {
            return;
        }
        let orphan = orphans[self.random.random_range(0..orphans.len())].clone();
        self.world.mend(orphan);
        self.remember();
    }

    /// What the watches show: each kind of object as it was at a time of its own. A Lease is asked for.
    pub(super) fn view(&mut self) -> World {
        let mut old = || &self.past[self.random.random_range(0..self.past.len())];
        World {
            workers: old().workers.clone(),
            keys: old().keys.clone(),
            joins: old().joins.clone(),
            nodes: old().nodes.clone(),
            leases: self.world.leases.clone(),
            documents: self.world.documents.clone(),
            ..World::default()
        }
    }

    /// A pass without any trouble.
    pub(super) fn pass_to_its_end(&mut self, instance: &str) {
        let Some(worker) = self.world.workers.get(instance) else {
            return;
        };
        let mut seen = worker.metadata.resource_version.clone();
        let view = self.world.clone();
        for action in self.plan(&view, instance, view.now) {
            self.judge(instance, &action);
            if self.world.apply(instance, action, &mut seen).is_err() {
                return;
            }
        }
    }
}
