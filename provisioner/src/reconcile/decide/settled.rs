//! Whether the labels of keys and the Workers tell the same story.
//!
//! They do not after a restore of an old etcd, or after somebody deleted Workers: then a key that looks free may be in use.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;

use crate::names::INSTANCE_LABEL;
use crate::worker::Worker;

/// How the labels and the Workers agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// Every key that is an instance's is that of a Worker, and every Worker's key is its own or free.
    Whole,
    /// A Worker's key is another one's.
    Doubled,
    /// A key is that of an instance which has no Worker.
    Unknown,
}

/// Compares them.
pub(crate) fn agreement<'a>(
    keys: impl IntoIterator<Item = &'a Secret>,
    workers: impl IntoIterator<Item = &'a Worker>,
) -> Agreement {
    let chosen: BTreeMap<&str, Option<&str>> = workers.into_iter().filter_map(of_worker).collect();
    let holders: BTreeMap<&str, &str> = keys.into_iter().filter_map(of_key).collect();
    let known = holders.values().all(|holder| chosen.contains_key(holder));
    let own = chosen.iter().all(|(instance, key)| {
        let holder = key.and_then(|it| holders.get(it));
        holder.is_none_or(|it| it == instance)
    });
    match (known, own) {
        (false, _) => Agreement::Unknown,
        (true, false) => Agreement::Doubled,
        (true, true) => Agreement::Whole,
    }
}

fn of_worker(worker: &Worker) -> Option<(&str, Option<&str>)> {
    let key = worker.status.as_ref().and_then(|it| it.key.as_deref());
    Some((worker.metadata.name.as_deref()?, key))
}

/// The name of a key that is an instance's, and the instance.
fn of_key(key: &Secret) -> Option<(&str, &str)> {
    let holder = key.metadata.labels.as_ref()?.get(INSTANCE_LABEL)?;
    let name = key.metadata.name.as_deref()?;
    (!holder.is_empty()).then_some((name, holder))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use test_case::test_case;

    use super::Agreement::{self, Doubled, Unknown, Whole};
    use super::agreement;
    use crate::names::INSTANCE_LABEL;
    use crate::worker::{Wish, Worker, WorkerSpec, WorkerStatus};

    fn key((name, holder): &(&str, &str)) -> Secret {
        let mut key = Secret::default();
        key.metadata.name = Some((*name).to_owned());
        key.metadata.labels = Some([(INSTANCE_LABEL.to_owned(), (*holder).to_owned())].into());
        key
    }

    fn worker((name, key): &(&str, Option<&str>)) -> Worker {
        let spec = WorkerSpec {
            instance_id: (*name).to_owned(),
            wished: Wish::Running,
            forced: false,
        };
        let mut worker = Worker::new(name, spec);
        worker.status = Some(WorkerStatus {
            key: key.map(str::to_owned),
            ..WorkerStatus::default()
        });
        worker
    }

    #[test_case(&[("one", "i-1"), ("two", "")], &[("i-1", Some("one")), ("i-2", None)], Whole; "all is well")]
    #[test_case(&[("one", "")], &[("i-1", Some("one"))], Whole; "a label that is on its way")]
    #[test_case(&[("one", "i-1")], &[("i-1", None)], Whole; "a label that is taken over")]
    #[test_case(&[("one", "i-1")], &[], Unknown; "an instance without a Worker")]
    #[test_case(&[("one", "i-2")], &[("i-1", Some("one")), ("i-2", None)], Doubled; "a key that two claim")]
    fn compares_labels_with_workers(keys: &[(&str, &str)], workers: &[(&str, Option<&str>)], expected: Agreement) {
        let keys: Vec<Secret> = keys.iter().map(key).collect();
        let workers: Vec<Worker> = workers.iter().map(worker).collect();
        assert_eq!(agreement(&keys, &workers), expected);
    }
}
