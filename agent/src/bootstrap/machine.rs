//! This machine: which one it is, what it speaks with, and what the steps share.

use std::path::Path;

use dynk8s_api::Secret;
use dynk8s_api::claim::Cluster;
use tokio::time::Instant;
use tracing::info;

use crate::api_server::ApiServer;
use crate::claim::{Claimant, Keys, Provisioner};
use crate::config::Settings;
use crate::facts::{self, Facts, Imds};
use crate::guard::Ward;
use crate::join;
use crate::ready::Watch;
use crate::report;
use crate::state::{self, Kept, State};
use crate::step::step;
use crate::timeline::Recorder;
use crate::tunnel::{self, Surroundings, Tunnel};
use crate::uplink::{self, Uplink};

/// An instance that knows itself.
pub(super) struct Machine<'a> {
    pub(super) settings: &'a Settings,
    pub(super) recorder: &'a Recorder,
    pub(super) uplink: Uplink,
    pub(super) imds: Imds,
    pub(super) facts: Facts,
    pub(super) state: State,
    pub(super) keys: Keys,
    pub(super) provisioner: Provisioner,
}

impl<'a> Machine<'a> {
    /// **facts**: which instance this is. Its keys are on the disk before anybody is spoken to.
    pub(super) async fn identify(settings: &'a Settings, recorder: &'a Recorder) -> anyhow::Result<Self> {
        let uplink = Uplink::new(Path::new(uplink::REMEMBERED), uplink::SOURCES, Path::new(state::BASE));
        let imds = Imds::new();
        let work = async {
            let facts = facts::learn(&imds, settings.deadlines.facts, recorder).await?;
            recorder.instance(&facts.id);
            let state = State::open(Path::new(state::BASE), &facts.id)?;
            for other in state.forget_others(Path::new(state::BASE))? {
                info!("this disk was `{other}` before: its keys and notes are removed");
            }
            let keys = Keys::load_or_draw(&state)?;
            let http = uplink::https_client(&uplink, settings.ca_file.as_deref(), settings.proxy.as_ref())?;
            Ok((facts, state, keys, http))
        };
        let (facts, state, keys, http) = step(recorder, "facts", work, |(it, ..)| {
            format!("{} is a {} in {}", it.id, it.instance_type, it.zone)
        })
        .await?;
        let provisioner = Provisioner::new(http, settings.provisioner.clone(), settings.provisioner_key);
        Ok(Self {
            settings,
            recorder,
            uplink,
            imds,
            facts,
            state,
            keys,
            provisioner,
        })
    }

    pub(super) fn joined_before(&self) -> anyhow::Result<Option<Kept>> {
        if join::has_succeeded(&self.state) {
            self.state.kept()
        } else {
            Ok(None)
        }
    }

    pub(super) async fn bring_up(&self, wireguard: &Secret) -> anyhow::Result<Tunnel> {
        let deadline = Instant::now() + self.settings.deadlines.tunnel;
        let around = Surroundings {
            uplink: &self.uplink,
            vpc: &self.facts.vpc,
            provisioner: self.settings.provisioner.host_str().unwrap_or_default(),
            skew: self.provisioner.skew(),
        };
        tunnel::up(wireguard, around, deadline, self.recorder).await
    }

    pub(super) fn watch<'b>(&'b self, tunnel: &'b Tunnel, cluster: &'b Cluster) -> Watch<'b> {
        Watch {
            facts: &self.facts,
            api_server: ApiServer {
                cluster,
                resolvers: &tunnel.dns,
            },
        }
    }

    pub(super) fn ward<'b>(&'b self, cluster: &'b Cluster) -> Ward<'b> {
        Ward {
            facts: &self.facts,
            imds: &self.imds,
            keys: &self.keys,
            provisioner: &self.provisioner,
            uplink: &self.uplink,
            recorder: self.recorder,
            cluster,
            drain: self.settings.drain,
        }
    }

    /// Takes back what a join did, so that the next claim asks for fresh material.
    pub(super) async fn reset(&self) -> anyhow::Result<()> {
        if let Some(complaint) = join::reset(self.settings.cri_socket.as_deref()).await? {
            info!("`kubeadm reset` did not do all of it: {complaint}");
        }
        self.state.note_reset()
    }

    pub(super) fn claimant<'b>(&'b self, kubelet_version: &'b str) -> Claimant<'b> {
        Claimant {
            facts: &self.facts,
            imds: &self.imds,
            keys: &self.keys,
            provisioner: &self.provisioner,
            audience: &self.settings.provisioner_key,
            kubelet_version,
            credentials: self.settings.credentials,
        }
    }

    pub(super) async fn report(&self) {
        report::send(&self.provisioner, &self.facts.id, &self.keys.claim, self.recorder).await;
    }
}
