//! A claim and what is known of its instance.

use dynk8s_api::claim::{ClaimRequest, StsProof};
use dynk8s_api::problem::Reason;
use dynk8s_api::{PrivateKey, PublicKey, Secret};
use jiff::{SignedDuration, Timestamp};

use crate::claim::decide::{Material, Step, decide, material};
use crate::config::Config;
use crate::proof::document::Documented;
use crate::proof::{Asked, Identity};
use crate::worker::{Announced, Attested, Claim, State, Token, Wish, Worker, WorkerSpec, WorkerStatus};

const ID: &str = "i-0123456789abcdef0";
pub(super) const SAMPLE: &str = include_str!("../../../../testdata/provisioner.toml");

/// A claim and what is known of its instance; each test changes what it is about.
pub(super) struct Case {
    pub(super) key: PublicKey,
    pub(super) asked: Asked,
    pub(super) worker: Worker,
    pub(super) config: Config,
}

impl Case {
    /// Announced as running, not claimed yet.
    pub(super) fn new() -> Self {
        let key = PrivateKey::generate().public();
        let spec = WorkerSpec {
            instance_id: ID.to_owned(),
            wished: Wish::Running,
            forced: false,
        };
        let mut worker = Worker::new(ID, spec);
        worker.status = Some(WorkerStatus {
            announced: Some(announced(State::Running)),
            ..WorkerStatus::default()
        });
        Self {
            asked: asked(key),
            key,
            worker,
            config: toml::from_str(SAMPLE).unwrap(),
        }
    }

    /// The same, claimed a minute ago and given everything.
    pub(super) fn bound() -> Self {
        let mut case = Self::new();
        let claim = Claim {
            key: case.key.to_string(),
            kubelet_key: case.asked.kubelet_key(),
            kubelet_version: "v1.37.2".to_owned(),
            reset: None,
            time: ago(60),
        };
        let status = case.status();
        status.attested = Some(attested(60));
        status.claim = Some(claim);
        status.generation = Some(2);
        status.key = Some("wireguard-2".to_owned());
        status.token = Some(Token {
            id: "abcdef".to_owned(),
            generation: 2,
            expires: ago(-60),
        });
        case
    }

    pub(super) fn status(&mut self) -> &mut WorkerStatus {
        self.worker.status.as_mut().unwrap()
    }

    pub(super) fn decide(&self) -> Step {
        decide(Some(&self.worker), &self.asked, None, &self.config, now())
    }

    pub(super) fn decide_proven(&self) -> Step {
        decide(Some(&self.worker), &self.asked, Some(&identity()), &self.config, now())
    }

    pub(super) fn material(&self, generation: u32) -> Option<Material> {
        material(Some(&self.worker), &self.asked, generation, now())
    }
}

pub(super) fn now() -> Timestamp {
    "2026-12-01T12:00:00Z".parse().unwrap()
}

pub(super) fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

pub(super) fn announced(state: State) -> Announced {
    Announced {
        state,
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        time: ago(60),
    }
}

pub(super) fn attested(seconds: i64) -> Attested {
    Attested {
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        role: None,
        pending_time: Some(ago(90)),
        time: ago(seconds),
    }
}

pub(crate) fn identity() -> Identity {
    Identity {
        account: "123456789012".to_owned(),
        region: "eu-central-1".to_owned(),
        role: None,
        by_sts: true,
        pending: Some(ago(90)),
    }
}

pub(crate) fn asked(key: PublicKey) -> Asked {
    let sts = StsProof {
        region: "eu-central-1".to_owned(),
        date: String::new(),
        access_key_id: String::new(),
        signature: Secret::new(String::new()),
        session_token: Secret::new(String::new()),
    };
    let request = ClaimRequest {
        nonce: [0; 32],
        sts,
        document: None,
        kubelet_key: [1; 32],
        kubelet_version: "v1.37.2".to_owned(),
        reset: None,
    };
    Asked {
        sender: key,
        request,
        document: Some(Documented {
            account: "123456789012".to_owned(),
            pending: ago(90),
        }),
        skew: None,
    }
}

pub(super) fn refused(step: &Step) -> Option<Reason> {
    match step {
        Step::Refuse(reason, _) => Some(*reason),
        _ => None,
    }
}
