//! `reset` and `prepare-image`: take a node apart. Each step is safe to take again, and goes on where an earlier one failed.

mod image;
mod plan;

use std::path::Path;

use anyhow::bail;
use nix::unistd::Uid;

use crate::bootstrap::{LOCK, RUN_FOLDER};
use crate::host::{files, lock, service};
use crate::state::{self, State};
use crate::{join, names, tunnel};

pub(crate) use plan::Purpose;

use plan::{Found, Step};

/// Takes the node apart, and tells of each step that did something. Returns the steps that failed; an error means that none
/// was taken. `cri_socket` is the one that is configured.
pub(crate) async fn reset(
    purpose: Purpose,
    cri_socket: Option<&str>,
    mut tell: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<anyhow::Error>> {
    let unit = if service::booted_with_systemd() {
        Some(service::state(service::UNIT).await?)
    } else {
        None
    };
    if let Some(refusal) = plan::refusal(purpose, Uid::effective().is_root(), unit.as_deref()) {
        bail!(refusal);
    }
    files::public_folder(Path::new(RUN_FOLDER))?;
    let _lock = lock::take(Path::new(LOCK))?;
    let found = Found {
        joined: join::left_overs(),
        purpose,
    };
    let failures = conduct(
        &plan::steps(found),
        async |step| take(step, cri_socket).await,
        &mut tell,
    )
    .await?;
    if failures.is_empty() {
        tell(plan::next(purpose))?;
    }
    Ok(failures)
}

/// Takes the steps in their order, except those that would lose what a failed one still needs.
async fn conduct(
    steps: &[Step],
    take: impl AsyncFn(Step) -> anyhow::Result<Vec<String>>,
    mut tell: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<anyhow::Error>> {
    let mut failed = Vec::new();
    let mut failures = Vec::new();
    for step in steps {
        if let Some(needed) = step.needs().filter(|it| failed.contains(it)) {
            tell(&format!("{step}: kept, for `{needed}` failed"))?;
            continue;
        }
        match take(*step).await {
            Ok(done) => done.iter().try_for_each(|it| tell(&format!("{step}: {it}")))?,
            Err(error) => {
                failed.push(*step);
                failures.push(error.context(step.to_string()));
            }
        }
    }
    Ok(failures)
}

/// Takes one step, and says what it did.
async fn take(step: Step, cri_socket: Option<&str>) -> anyhow::Result<Vec<String>> {
    match step {
        Step::Join => take_back_join(cri_socket).await,
        Step::Kubelet => disable_kubelet(Path::new(state::BASE)).await,
        Step::Claim => note_reset(Path::new(state::BASE)),
        Step::Names => names::undo(Path::new(state::BASE)).await,
        Step::Tunnel => Ok(if tunnel::remove().await? {
            vec![format!("removed the interface `{}`", tunnel::INTERFACE)]
        } else {
            Vec::new()
        }),
        // This very command has made it, if nobody had before: there is nothing to tell.
        Step::RunFolder => files::remove(Path::new(RUN_FOLDER)).map(|()| Vec::new()),
        Step::CloudInit => image::clean_cloud_init().await,
        Step::Logs => image::remove_logs().await,
        Step::State => image::remove_state(),
        Step::Identity => image::remove_identity(),
    }
}

async fn take_back_join(cri_socket: Option<&str>) -> anyhow::Result<Vec<String>> {
    if let Some(complaint) = join::reset(cri_socket).await? {
        bail!("`kubeadm reset` did not do all of it: {complaint}");
    }
    Ok(vec!["took back what `kubeadm join` did".to_owned()])
}

async fn disable_kubelet(base: &Path) -> anyhow::Result<Vec<String>> {
    let mut done = Vec::new();
    for id in state::instances(base)? {
        if join::disable_kubelet(&State::at(base, &id)).await? {
            done.push("it no longer starts at boot, as before the agent".to_owned());
        }
    }
    Ok(done)
}

/// The keys and the generation stay, so that the next journey continues the claim.
fn note_reset(base: &Path) -> anyhow::Result<Vec<String>> {
    for id in state::instances(base)? {
        State::at(base, &id).note_reset()?;
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::plan::Step;
    use super::{conduct, note_reset};
    use crate::state::State;

    #[tokio::test]
    async fn goes_on_after_a_failure_and_keeps_what_it_needs() {
        let steps = [Step::Join, Step::Names, Step::Tunnel, Step::RunFolder];
        let take = async |step| match step {
            Step::Join | Step::Names => Err(anyhow!("not now")),
            step => Ok(vec![format!("did {step}")]),
        };
        let mut told = Vec::new();
        let tell = |text: &str| {
            told.push(text.to_owned());
            Ok(())
        };
        let failures = conduct(&steps, take, tell).await.unwrap();
        let failures: Vec<String> = failures.iter().map(|it| format!("{it:#}")).collect();
        assert_eq!(failures, ["join: not now", "names: not now"]);
        assert_eq!(told, ["tunnel: did tunnel", "/run/dynk8s: kept, for `names` failed"]);
    }

    #[test]
    fn the_claim_goes_on_with_its_next_generation() {
        let base = tempfile::tempdir().unwrap();
        let state = State::open(base.path(), &"i-0123abcd".parse().unwrap()).unwrap();
        std::fs::write(state.claim_key(), "key").unwrap();
        std::fs::write(base.path().join("i-0123abcd/generation"), "3").unwrap();
        state.note_joined().unwrap();
        for _again in 0..2 {
            note_reset(base.path()).unwrap();
            assert_eq!(state.spent().unwrap(), Some(3));
            assert!(!state.has_joined() && state.claim_key().exists());
        }
    }
}
