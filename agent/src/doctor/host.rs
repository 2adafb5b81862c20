//! The machine itself: what a kubelet needs.

use super::{Check, Verdict};
use crate::config::Settings;
use crate::host::service;
use crate::join;
use crate::join::preflight::decide::{Finding, findings};

const STEP: &str = "join";

pub(super) async fn look(settings: &Settings, joined: bool) -> Vec<Check> {
    let version = join::version().await;
    let kubelet = version.as_ref().ok().cloned();
    let mut checks = vec![Check::of(STEP, version.map(|it| format!("kubeadm {it} is installed")))];
    let socket = join::runtime(settings.cri_socket.as_deref()).await;
    let answers = socket.is_ok();
    let likely = socket.as_ref().cloned().unwrap_or_default();
    checks.push(Check::of(
        STEP,
        socket.map(|it| format!("the container runtime answers at `{it}`")),
    ));
    if let (Some(kubelet), true) = (kubelet, answers) {
        match join::preflight::look(&kubelet, settings.keep_swap, &likely).await {
            // A node's kubelet listens, as it should.
            Ok(mut seen) => {
                seen.port_taken &= !joined;
                checks.extend(findings(&seen).into_iter().map(judge));
            }
            Err(error) => checks.push(Check::of(STEP, Err(error))),
        }
    }
    if joined && service::booted_with_systemd() {
        checks.push(Check::of(STEP, service::is_active("kubelet.service").await));
    }
    checks
}

fn judge(finding: Finding) -> Check {
    let (verdict, text) = match finding {
        Finding::Mendable(mend) => (Verdict::Doubtful, format!("{mend} (a join mends it)")),
        Finding::Doubtful(text) => (Verdict::Doubtful, text),
        Finding::Fatal(text) => (Verdict::Wrong, text),
    };
    Check {
        step: STEP,
        verdict,
        text,
    }
}
