//! The fifth step: `kubeadm join`, one try of it. That a try may follow another is the journey's to decide.

mod decide;
mod kubeadm;
mod plan;
pub(crate) mod preflight;
mod render;
mod runtime;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use dynk8s_api::claim::ClaimAnswer;

use crate::claim::KubeletKey;
use crate::config::Settings;
use crate::facts::Facts;
use crate::host::{command, files, service};
use crate::names::Names;
use crate::state::State;
use crate::tunnel::Tunnel;

pub(crate) use decide::Cause;
pub(crate) use kubeadm::{kubelet_is_enabled, version};
pub(crate) use plan::skew;

use render::FOLDER;

/// The credentials that a kubelet has once it joined.
pub(crate) const KUBELET_CONFIG: &str = "/etc/kubernetes/kubelet.conf";

/// The configuration that kubeadm writes for the kubelet.
pub(crate) const KUBELET_SETTINGS: &str = "/var/lib/kubelet/config.yaml";

/// The container runtime that answers, or why none does; it is not waited for.
pub(crate) async fn runtime(configured: Option<&str>) -> anyhow::Result<String> {
    runtime::socket(configured, Duration::ZERO).await
}

/// The version of the configuration that a kubeadm of this version is given.
pub(crate) fn api_version(kubeadm: &str) -> &'static str {
    plan::Dialect::of(kubeadm).api_version()
}

/// Whether this machine has become a node. A kubelet's credentials alone prove nothing: they may be left over from a join that failed.
pub(crate) fn has_succeeded(state: &State) -> bool {
    state.has_joined() && Path::new(KUBELET_CONFIG).exists()
}

/// The files of one try, the configuration first.
pub(crate) fn material_files() -> [String; 3] {
    render::FILES.map(|it| format!("{FOLDER}/{it}"))
}

/// What a join leaves behind and the next one trips over.
const LEFT_OVERS: &[&str] = &[
    KUBELET_CONFIG,
    "/etc/kubernetes/bootstrap-kubelet.conf",
    "/etc/kubernetes/pki/ca.crt",
];

/// Where the kubelet looks for the key of its first certificate.
pub(crate) const KEY_PLACE: &str = crate::claim::KUBELET_PLACE;

/// A runtime starts with the machine, and may be slower than the network.
const RUNTIME: Duration = Duration::from_mins(1);

/// Why a try failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// kubeadm said no; another try, with fresh material, may do better.
    #[error("{cause}")]
    Refused { cause: Cause, log: Vec<String> },
    /// It could not even begin.
    #[error(transparent)]
    Impossible(#[from] anyhow::Error),
}

/// This machine, ready to join.
#[derive(Debug)]
pub(crate) struct Joiner<'a> {
    facts: &'a Facts,
    key: &'a KubeletKey,
    cri_socket: String,
    kubelet: &'a str,
    keep_swap: bool,
}

impl<'a> Joiner<'a> {
    /// Waits for the container runtime, and looks for what kubeadm does not check. Names that are right prove that a kubelet
    /// may start. `kubelet` is its version.
    pub(crate) async fn prepare(
        facts: &'a Facts,
        key: &'a KubeletKey,
        kubelet: &'a str,
        settings: &Settings,
        state: &State,
        _names: Names,
    ) -> anyhow::Result<Self> {
        let (configured, keep_swap) = (settings.cri_socket.as_deref(), settings.keep_swap);
        let mut joiner = Self {
            facts,
            key,
            cri_socket: runtime::likely(configured),
            kubelet,
            keep_swap,
        };
        // Where systemd does not run, nobody starts a runtime later, and much is a host's: kubeadm says what is missing.
        if service::booted_with_systemd() {
            joiner.cri_socket = runtime::socket(configured, RUNTIME).await?;
            let seen = preflight::look(kubelet, keep_swap, &joiner.cri_socket).await?;
            preflight::mend(&seen).await?;
            enable_kubelet(state).await?;
        }
        Ok(joiner)
    }

    /// Joins with the material of one claim.
    pub(crate) async fn join(&self, answer: &ClaimAnswer, tunnel: &Tunnel, remaining: Duration) -> Result<(), Error> {
        plan::skew(self.kubelet, &answer.cluster.version).map_err(anyhow::Error::msg)?;
        self.key.place(Path::new(KEY_PLACE))?;
        let host = render::Host {
            cri_socket: &self.cri_socket,
            dialect: plan::Dialect::of(self.kubelet),
            keep_swap: self.keep_swap,
        };
        let material = render::material(self.facts, answer, tunnel.address, host).map_err(anyhow::Error::new)?;
        let written = write(&material);
        let ended = match written {
            Ok(()) => {
                kubeadm::join(
                    &format!("{FOLDER}/config.json"),
                    &answer.token,
                    plan::LONGEST.min(remaining),
                )
                .await
            }
            Err(error) => {
                remove_material()?;
                return Err(error.into());
            }
        };
        remove_material()?;
        match ended {
            Ok(ended) if ended.success => Ok(()),
            Ok(ended) => Err(refused(ended.lines).await),
            Err(command::Error::Deadline { lines, deadline, .. }) => {
                Err(refused(decide::with_its_end(lines, deadline)).await)
            }
            Err(error) => Err(Error::Impossible(error.into())),
        }
    }
}

/// Takes back what a join did, also one of an earlier run. Returns what kubeadm said if it could not do all of it: the next
/// join does not trip over that, but a person who takes the node apart wants to know.
pub(crate) async fn reset(cri_socket: Option<&str>) -> anyhow::Result<Option<String>> {
    let ended = kubeadm::reset(&runtime::likely(cri_socket))
        .await
        .context("failed to reset")?;
    LEFT_OVERS
        .iter()
        .chain(&[KEY_PLACE])
        .try_for_each(|path| files::remove(Path::new(path)))?;
    let last = ended.lines.last().map_or("it does not say why", String::as_str);
    Ok((!ended.success).then(|| last.to_owned()))
}

/// A reset knows from the note that the kubelet was not enabled before.
async fn enable_kubelet(state: &State) -> anyhow::Result<()> {
    if kubeadm::kubelet_is_enabled().await? {
        return Ok(());
    }
    state.note_kubelet_enabled()?;
    if !kubeadm::enable_kubelet().await? {
        bail!("failed to enable the unit `kubelet.service`: is the kubelet's package installed?");
    }
    Ok(())
}

/// Lets the kubelet stay away from the next boot, if it is the agent that let it come; tells whether it was.
pub(crate) async fn disable_kubelet(state: &State) -> anyhow::Result<bool> {
    if !state.has_enabled_kubelet() {
        return Ok(false);
    }
    if kubeadm::kubelet_is_enabled().await? && !kubeadm::disable_kubelet().await? {
        bail!("failed to disable the unit `kubelet.service`; `systemctl disable kubelet` tells why");
    }
    state.note_kubelet_as_before().map(|()| true)
}

/// Whether an earlier join left something behind.
pub(crate) fn left_overs() -> bool {
    LEFT_OVERS.iter().any(|path| Path::new(path).exists())
}

/// Lets the kubelet rotate its certificates from now on, which it must not do for the first one.
pub(crate) async fn let_rotate() -> anyhow::Result<()> {
    let path = Path::new(KUBELET_SETTINGS);
    let Some(rotating) = files::read(path)?.as_deref().and_then(render::rotating) else {
        return Ok(());
    };
    files::write(path, rotating.as_bytes(), files::PRIVATE)?;
    kubeadm::restart_kubelet()
        .await
        .context("failed to restart the kubelet")
}

async fn refused(lines: Vec<String>) -> Error {
    let kubelet = if service::booted_with_systemd() {
        kubeadm::kubelet_log().await
    } else {
        Vec::new()
    };
    Error::Refused {
        cause: decide::cause(&lines, decide::last_words(&kubelet)),
        log: lines,
    }
}

fn write(material: &[render::Material]) -> anyhow::Result<()> {
    for file in material {
        let path = Path::new(FOLDER).join(file.name);
        files::private_folder(path.parent().unwrap_or(Path::new("/")))?;
        files::write(&path, file.content.expose().as_bytes(), files::PRIVATE)?;
    }
    Ok(())
}

fn remove_material() -> anyhow::Result<()> {
    files::remove(Path::new(FOLDER))
}
