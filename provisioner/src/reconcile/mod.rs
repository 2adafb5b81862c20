//! The loop that acts: whenever anything of an instance changes, and at least every 30 s, the next missing thing is done.
//!
//! `decide` says what, and is pure; `watch` and `observe` see, `apply` does, `tend` looks after what has no Worker. Two loops
//! at once are safe, only wasteful; so of several replicas the one that holds the `lease` acts.

mod apply;
mod census;
pub(crate) mod check;
mod decide;
mod draw;
mod events;
mod failures;
mod kubelet;
mod lease;
mod looks;
mod observe;
mod render;
mod start;
mod strays;
mod tend;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dynk8s_api::InstanceId;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use kube::runtime::controller::{self, Controller};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use tokio::time::{Instant, timeout};
use tracing::{Instrument as _, debug, info_span, warn};

use self::apply::Failure;
pub(crate) use self::decide::{Agreement, shown_addresses};
use self::decide::{Case, Pulses};
use self::events::Events;
use self::failures::Failures;
use self::lease::Candidate;
use self::looks::Looks;
use self::tend::Tender;
use self::watch::Stores;
use crate::api_server::fault::told;
use crate::config::Live;
use crate::metrics::Metrics;
use crate::resync::{Done, Resync};
use crate::stop::GRACE;
use crate::work::Surroundings;
use crate::worker::Worker;

/// How many Workers are looked at at the same time.
const CONCURRENCY: u16 = 8;
const SOONEST: Duration = Duration::from_millis(200);

struct Context {
    client: Client,
    namespace: String,
    config: Live,
    metrics: Metrics,
    events: Events,
    stores: Stores,
    resynced: Done,
    /// Whether this replica acts.
    acting: tokio::sync::watch::Receiver<bool>,
    looks: Arc<Looks>,
    /// When this replica was started.
    began: Instant,
    pulses: Mutex<Pulses>,
    failures: Failures,
}

/// What reconciling needs.
const LISTS: &str = "the lists of all that is watched";

/// Acts on the Workers of a namespace until it is asked to stop, and what was begun has ended.
pub async fn run(around: &Surroundings) -> anyhow::Result<()> {
    around.readiness.needs(LISTS);
    tokio::select! {
        done = act(around) => done,
        () = around.stop.clone().overdue() => {
            warn!("looks at Workers had not ended after {GRACE:?}");
            Ok(())
        }
    }
}

async fn act(around: &Surroundings) -> anyhow::Result<()> {
    let Surroundings {
        client,
        namespace,
        config,
        metrics,
        readiness,
        stop,
    } = around;
    tokio::select! {
        done = start::checked(client) => done?,
        () = stop.clone().asked() => return Ok(()),
    }
    let workers: Api<Worker> = Api::namespaced(client.clone(), namespace);
    let controller = Controller::new(workers, watcher::Config::default())
        .with_config(controller::Config::default().concurrency(CONCURRENCY));
    let (stores, orphaned, controller) = watch::attach(controller, client, namespace);
    census::offer(metrics, &stores);
    let (candidate, acting) = Candidate::new(client, namespace);
    let tender = Tender::new(client, namespace, orphaned);
    let (looks, looked) = Looks::new(client, namespace);
    let controller = controller.reconcile_on(looked);
    let (events, writing) = Events::new(client.clone());
    let writing = tokio::spawn(writing);
    let resync = Resync::new(client.clone(), namespace, stores.workers.clone(), config.clone());
    let resynced = resync.done();
    metrics.flag(
        "ec2_resync_accepted",
        "Whether nothing is wrong with what EC2 says of the instances, or it is not asked",
        move || !resynced.complains(),
    );
    let context = Arc::new(Context {
        client: client.clone(),
        namespace: namespace.clone(),
        config: config.clone(),
        metrics: metrics.clone(),
        events,
        stores,
        resynced: resync.done(),
        acting: acting.clone(),
        looks,
        began: Instant::now(),
        pulses: Mutex::default(),
        failures: Failures::default(),
    });
    let listed = async {
        if context.stores.ready().await.is_ok() {
            readiness.has(LISTS);
            strays::sweep(client, namespace, &context.stores, || *acting.borrow()).await;
        }
        std::future::pending::<()>().await;
    };
    let passes = controller
        .reconcile_all_on(lease::taken(acting.clone()))
        .graceful_shutdown_on(stop.clone().asked())
        .run(reconcile, again_after, Arc::clone(&context))
        .for_each(async |result| match result {
            // The Worker went before its turn came, which each one has within the half minute after its last.
            Err(controller::Error::ObjectNotFound(worker)) => context.forget(&worker.name),
            Ok(_) => {}
            Err(controller::Error::ReconcilerFailed(error, worker)) => report(&worker.name, &error),
            Err(error) => warn!(error = told(&error), "watching failed"),
        });
    tokio::select! {
        () = passes => {}
        () = listed => {}
        () = resync.run() => {}
        () = candidate.run() => {}
        () = tender.run(&context.stores, || *acting.borrow()) => {}
    }
    lease::give_back(client, namespace).await;
    // Whatever is still to be told of.
    drop(context);
    let _ = timeout(events::PATIENCE, writing).await;
    Ok(())
}

async fn reconcile(worker: Arc<Worker>, context: Arc<Context>) -> Result<controller::Action, Failure> {
    let span = info_span!("reconcile", instance = worker.name_any());
    look(worker, context).instrument(span).await
}

async fn look(worker: Arc<Worker>, context: Arc<Context>) -> Result<controller::Action, Failure> {
    context.stores.ready().await?;
    if !*context.acting.borrow() {
        return Ok(controller::Action::await_change());
    }
    let name = worker.name_any();
    let Ok(instance) = name.parse::<InstanceId>() else {
        warn!("ignored: its name is no instance id");
        return Ok(controller::Action::await_change());
    };
    let config = context.config.get();
    let mut observed = observe::observe(&context.stores, &config, &context.resynced, &worker, &instance);
    if decide::asks_for_lease(&worker, &observed) {
        let lease = observe::lease(&context.client, &name).await;
        let version = lease.map_err(|error| Failure::NoLease(Box::new(error)))?;
        observed.pulse = Some(
            context
                .pulses()
                .note(&name, version.as_deref(), context.began.elapsed()),
        );
    } else {
        context.pulses().forget(&name);
    }
    observed.seen = context.looks.of(&instance);
    let plan = decide::decide(Case {
        instance: &instance,
        worker: &worker,
        observed: &observed,
        config: &config,
        now: Timestamp::now(),
        token_id: &draw::token_id(),
    });
    context.looks.follow(&instance, plan.looking);
    apply::apply(&context, &worker, &instance, plan.actions).await?;
    context.metrics.reconcile_pass("done");
    context.failures.forget(&name);
    Ok(controller::Action::requeue(plan.again.max(SOONEST)))
}

#[expect(clippy::needless_pass_by_value, reason = "the controller calls it so")]
fn again_after(worker: Arc<Worker>, failure: &Failure, context: Arc<Context>) -> controller::Action {
    context.metrics.reconcile_pass(failure.name());
    controller::Action::requeue(context.failures.again_after(worker.name_any()))
}

fn report(worker: &str, failure: &Failure) {
    if matches!(failure, Failure::Changed { .. }) {
        debug!(instance = worker, "{failure}");
    } else {
        warn!(instance = worker, "{failure}");
    }
}

impl Context {
    fn pulses(&self) -> std::sync::MutexGuard<'_, Pulses> {
        self.pulses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what is known of a Worker that is gone.
    fn forget(&self, worker: &str) {
        self.failures.forget(worker);
        self.pulses().forget(worker);
        if let Ok(instance) = worker.parse() {
            self.looks.forget(&instance);
        }
    }
}
