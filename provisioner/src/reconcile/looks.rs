//! The looks at kubelets that are under way, and what they have shown. They take seconds, so nobody waits for them: the Worker's
//! turn comes again when one has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dynk8s_api::InstanceId;
use futures_util::{Stream, stream};
use jiff::Timestamp;
use kube::Client;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::{Semaphore, mpsc};

use super::decide::{Looking, Seen, Target};
use super::kubelet::Kubelets;
use crate::worker::Worker;

/// How many looks there are at the same time.
const AT_ONCE: usize = 16;

/// What is known of the kubelets of nodes that are not open for pods yet.
pub(super) struct Looks {
    known: Mutex<HashMap<InstanceId, Seen>>,
    kubelets: Kubelets,
    permits: Semaphore,
    ended: mpsc::UnboundedSender<InstanceId>,
}

impl Looks {
    /// The memory, and the Workers that something new is known of.
    pub(super) fn new(client: &Client, namespace: &str) -> (Arc<Self>, impl Stream<Item = ObjectRef<Worker>> + use<>) {
        let (ended, ends) = mpsc::unbounded_channel::<InstanceId>();
        let looks = Self {
            known: Mutex::default(),
            kubelets: Kubelets::new(client.clone(), namespace),
            permits: Semaphore::new(AT_ONCE),
            ended,
        };
        let namespace = namespace.to_owned();
        let news = stream::unfold(ends, move |mut ends| {
            let namespace = namespace.clone();
            async move {
                let instance = ends.recv().await?;
                Some((ObjectRef::new(instance.as_str()).within(&namespace), ends))
            }
        });
        (Arc::new(looks), news)
    }

    pub(super) fn of(&self, instance: &InstanceId) -> Option<Seen> {
        self.known().get(instance).cloned()
    }

    /// Does what was decided.
    pub(super) fn follow(self: &Arc<Self>, instance: &InstanceId, looking: Looking) {
        match looking {
            Looking::Needless => self.forget(instance),
            Looking::Later => {}
            Looking::Now(target) => {
                if self.begin(instance, &target) {
                    tokio::spawn(Arc::clone(self).look(instance.clone(), target));
                }
            }
        }
    }

    /// A look that is under way is of no interest any more.
    pub(super) fn forget(&self, instance: &InstanceId) {
        self.known().remove(instance);
    }

    /// Notes that somebody looks, unless somebody does already.
    fn begin(&self, instance: &InstanceId, target: &Target) -> bool {
        let mut known = self.known();
        let seen = known.entry(instance.clone()).or_insert_with(|| unseen(target.clone()));
        if seen.target != *target {
            *seen = unseen(target.clone());
        }
        if seen.under_way {
            return false;
        }
        seen.under_way = true;
        seen.times = seen.times.saturating_add(1);
        true
    }

    async fn look(self: Arc<Self>, instance: InstanceId, target: Target) {
        let Ok(_permit) = self.permits.acquire().await else {
            return;
        };
        let sight = self.kubelets.look(&instance, target.at).await;
        // What is not known any more nobody asks for.
        let mut known = self.known();
        if let Some(seen) = known.get_mut(&instance).filter(|it| it.target == target) {
            seen.under_way = false;
            seen.last = Some((Timestamp::now(), sight));
            // It fails only when the loop has ended.
            let _ = self.ended.send(instance);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<InstanceId, Seen>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unseen(target: Target) -> Seen {
    Seen {
        target,
        since: Timestamp::now(),
        times: 0,
        under_way: false,
        last: None,
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use kube::client::ClientBuilder;

    use super::{Looking, Looks, Target};

    #[tokio::test]
    async fn nothing_is_kept_of_an_instance_that_is_gone() {
        let (looks, _news) = Looks::new(&ClientBuilder::new(Router::new(), "default").build(), "dynk8s-system");
        let [one, two] = ["i-00000001", "i-00000002"].map(|it| it.parse().unwrap());
        let node = serde_json::from_value(serde_json::json!({ "metadata": {} })).unwrap();
        for instance in [&one, &two] {
            let target = Target::of(&node, "127.0.0.1".parse().unwrap());
            looks.follow(instance, Looking::Now(target));
        }
        looks.forget(&one);
        assert!(looks.of(&one).is_none() && looks.of(&two).is_some());
        assert_eq!(looks.known().len(), 1);
    }
}
