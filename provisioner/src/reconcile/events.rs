//! Turns as Kubernetes Events, on the Worker and on its Node: `kubectl describe` shows them.
//!
//! They are a courtesy: nothing waits for them, and what cannot be written is lost. The conditions keep the same words.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource as _};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::warn;

use super::decide::{Turn, Weight};
use crate::api_server::fault::told;
use crate::worker::{Node, Worker};

/// Who reports, next to the name of the pod.
const REPORTER: &str = "dynk8s.du5t1n.me/provisioner";

/// Events that may wait; those that come then are dropped.
const LONGEST_QUEUE: usize = 512;

/// How long the API server may take for one.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The API server takes no longer note, in bytes.
const LONGEST_NOTE: usize = 1024;

type Post = (Turn, ObjectReference);

/// Where Events are left; a clone leaves them in the same place.
#[derive(Clone)]
pub(super) struct Events {
    queue: mpsc::Sender<Post>,
}

impl Events {
    /// The place, and the work that writes what is left there, which ends when nobody can leave anything more.
    pub(super) fn new(client: Client) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (queue, posts) = mpsc::channel(LONGEST_QUEUE);
        let recorder = Recorder::new(client, Reporter::from(REPORTER));
        (Self { queue }, write(recorder, posts))
    }

    /// Tells of turns, on the Worker and on the Node if there is one.
    pub(super) fn tell(&self, worker: &Worker, node: Option<&Node>, turns: &[Turn]) {
        let objects = [Some(worker.object_ref(&())), node.map(reference)];
        for turn in turns.iter().filter(|it| it.weight != Weight::Quiet) {
            for object in objects.iter().flatten() {
                if self.queue.try_send((turn.clone(), object.clone())).is_err() {
                    warn!(reason = turn.reason, "an Event is lost: too many are waiting");
                }
            }
        }
    }
}

async fn write(recorder: Recorder, mut posts: mpsc::Receiver<Post>) {
    while let Some((turn, object)) = posts.recv().await {
        let failed = match timeout(PATIENCE, recorder.publish(&event(&turn), &object)).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => told(&error),
            Err(_) => format!("no answer within {PATIENCE:?}"),
        };
        warn!(
            instance = object.name,
            reason = turn.reason,
            error = failed,
            "an Event is lost"
        );
    }
}

/// What `kubectl describe` shows of a turn. What comes again within minutes is shown as a series if all but the note is the
/// same.
fn event(turn: &Turn) -> Event {
    let (type_, reason, action) = match turn.weight {
        Weight::Quiet | Weight::Normal => (EventType::Normal, &turn.kind, &turn.reason),
        Weight::Warning => (EventType::Warning, &turn.reason, &turn.kind),
    };
    let end = turn.message.floor_char_boundary(LONGEST_NOTE);
    Event {
        type_,
        reason: reason.clone(),
        note: Some(turn.message[..end].to_owned()),
        action: action.clone(),
        secondary: None,
    }
}

fn reference(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.clone()),
        uid: Some(node.uid.clone()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests;
