//! State changes of instances, written down on their Workers.

pub mod decide;

use jiff::Timestamp;
use serde_json::json;
use tracing::info;

use self::decide::{Decision, decide};
use crate::config::Config;
use crate::sns::event::StateChange;
use crate::sns::outcome::Outcome;
use crate::store::{Error, Store};

/// How often somebody else may be faster than we are.
const ATTEMPTS: usize = 8;

/// Writes one state change down, and says what came of it. After a crash between the writes, the redelivery goes on where
/// this one ended.
pub async fn record(store: &Store, config: &Config, change: &StateChange, now: Timestamp) -> Result<Outcome, Error> {
    let StateChange { instance, announced } = change;
    for _ in 0..ATTEMPTS {
        let worker = store.worker(instance).await?;
        let decision = decide(worker.as_ref(), announced, config, now);
        info!(%instance, state = %announced.state, time = %announced.time, ?decision, "instance announced");
        let written = match (decision, worker) {
            (Decision::Ignore(why), _) => return Ok(why.outcome()),
            (Decision::Create(wish), _) => store.create_worker(instance, wish).await.map(drop),
            (Decision::Bury, _) => store.bury(instance).await,
            (Decision::Record, Some(worker)) => {
                store.record(&worker, json!({ "announced": announced })).await.map(drop)
            }
            (Decision::Dispute, Some(worker)) => store.record(&worker, json!({ "disputed": now })).await.map(drop),
            (Decision::Record | Decision::Dispute, None) => Ok(()),
        };
        match written {
            Ok(()) if decision == Decision::Record => return Ok(Outcome::Recorded),
            Ok(()) | Err(Error::Conflict) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict)
}
