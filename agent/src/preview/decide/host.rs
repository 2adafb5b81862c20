//! What becomes of the host: what kubeadm does, and what is put right before it.

use super::{Before, Journey};
use crate::join::preflight::decide::Finding;
use crate::preview::outline::{Kind, Step};

/// What the join depends on.
#[derive(Debug)]
pub(in crate::preview) struct Host<'a> {
    /// kubeadm's version, and the one of the configuration that it reads.
    pub(in crate::preview) kubeadm: &'a anyhow::Result<(String, &'static str)>,
    pub(in crate::preview) runtime: &'a anyhow::Result<String>,
    /// What was found where systemd runs.
    pub(in crate::preview) findings: Option<&'a anyhow::Result<Vec<Finding>>>,
    /// Whether the kubelet starts at boot, where systemd runs.
    pub(in crate::preview) kubelet_enabled: Option<bool>,
    /// Why the kubelet may not join the API server of the last claim.
    pub(in crate::preview) skew: Option<&'a str>,
    /// The files of one try, and where the kubelet looks for its key.
    pub(in crate::preview) material: &'a [String],
    pub(in crate::preview) key: &'a str,
}

const ROTATES: &str =
    "`/var/lib/kubelet/config.yaml` once more after the join: from then on the kubelet may rotate its certificates";

pub(in crate::preview) fn join(journey: Journey<'_>, host: &Host<'_>) -> Step {
    let mut step = Step::new("join", journey.settings.deadlines.join);
    if journey.before == Before::Joined {
        step.add(Kind::Sees, "this machine has joined before: kubeadm is not run");
        let swap = if journey.settings.keep_swap {
            ""
        } else {
            "swap off and "
        };
        step.add(
            Kind::Does,
            format!("turns {swap}forwarding on, where a boot has undone it"),
        );
        step.add(Kind::Writes, ROTATES);
        return step;
    }
    let read = |(version, api): &(String, &str)| format!("kubeadm {version} is installed, and reads {api}");
    step.add_found(host.kubeadm.as_ref().map(read));
    if let Some(skew) = host.skew {
        step.add(Kind::Ends, skew);
    }
    look_around(&mut step, host, journey.state);
    step.add(
        Kind::Writes,
        format!(
            "`{}`, with the token in it, for as long as kubeadm runs",
            host.material.join("`, `")
        ),
    );
    step.add(Kind::Writes, format!("`{}`: the key whose hash was claimed", host.key));
    if let Some(facts) = journey.facts {
        let (id, provider_id) = (&facts.id, facts.provider_id());
        step.add(
            Kind::Does,
            format!(
                "runs `kubeadm join --config {}` for the Node `{id}` of `{provider_id}`",
                host.material[0]
            ),
        );
    }
    step.add(
        Kind::Does,
        "if that fails, resets and asks for fresh material, until the deadline",
    );
    step.add(
        Kind::Later,
        "labels beside type, region and zone; taints; kubelet settings; whether the versions fit",
    );
    step.add(
        Kind::Writes,
        format!(
            "`{}/joined`; and kubeadm writes below `/etc/kubernetes` and `/var/lib/kubelet`",
            journey.state
        ),
    );
    step.add(Kind::Writes, ROTATES);
    step
}

fn look_around(step: &mut Step, host: &Host<'_>, state: &str) {
    let Some(findings) = host.findings else {
        step.add(
            Kind::Sees,
            "systemd does not run here: container runtime, swap and the like are left to kubeadm's checks",
        );
        return;
    };
    match host.runtime {
        Ok(socket) => step.add(Kind::Sees, format!("the container runtime answers at `{socket}`")),
        Err(error) => step.add(Kind::Doubtful, format!("{error:#}; it is waited for")),
    }
    match findings {
        Ok(findings) => findings.iter().for_each(|it| match it {
            Finding::Mendable(mend) => step.add(Kind::Does, format!("puts right: {mend}")),
            Finding::Doubtful(text) => step.add(Kind::Doubtful, text),
            Finding::Fatal(text) => step.add(Kind::Ends, text),
        }),
        Err(error) => step.add_found(Err(error)),
    }
    if host.kubelet_enabled == Some(false) {
        step.add(
            Kind::Does,
            "lets the kubelet start at boot (`systemctl enable kubelet`)",
        );
        step.add(
            Kind::Writes,
            format!("`{state}/kubelet-enabled`, so that `reset` takes that back"),
        );
    }
}
