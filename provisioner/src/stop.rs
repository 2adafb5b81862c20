//! When to end: the first SIGTERM or SIGINT asks to, the second does not wait.

use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::info;

/// How long what was begun may take to end. A claim waits for STS and for its key, 20 s at most; the Deployments give 30 s
/// (`terminationGracePeriodSeconds`).
pub const GRACE: Duration = Duration::from_secs(20);

/// Tells everybody who has a clone when to end.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for signals; the work ends at the second one, and must be run for the first to be heard.
    pub fn at_signals() -> anyhow::Result<(Self, impl Future<Output = ()> + Send + use<>)> {
        let mut signals = Signals::new()?;
        let (ask, asked) = watch::channel(false);
        let work = async move {
            signals.next().await;
            info!("asked to stop: no new requests, and what was begun may end");
            ask.send_replace(true);
            signals.next().await;
        };
        Ok((Self(asked), work))
    }

    /// Whether it is time.
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is time.
    pub async fn asked(mut self) {
        // An error says that whoever could ask us to stop is gone.
        let _ = self.0.wait_for(|it| *it).await;
    }

    /// Waits until it is high time.
    pub async fn overdue(self) {
        self.asked().await;
        sleep(GRACE).await;
    }
}

impl From<watch::Receiver<bool>> for Stop {
    fn from(asked: watch::Receiver<bool>) -> Self {
        Self(asked)
    }
}

/// What asks a process to stop.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::GRACE;

    #[test_case(include_str!("../../packaging/kubernetes/base/serve.deployment.yaml"))]
    #[test_case(include_str!("../../packaging/kubernetes/base/reconcile.deployment.yaml"))]
    fn the_kubelet_waits_longer_than_we_do(deployment: &str) {
        let given = deployment
            .lines()
            .find_map(|it| it.trim().strip_prefix("terminationGracePeriodSeconds: "));
        let given: u64 = given.unwrap().parse().unwrap();
        assert!(given >= GRACE.as_secs() + 5, "{given}");
    }
}
