//! Looks at every step from outside, and changes nothing: what is right, what is not, and what to do about it.

mod host;
mod network;
mod render;

use std::path::Path;

use dynk8s_api::wireguard::Document;
use tracing::debug;

use crate::config::Settings;
use crate::facts::{self, Facts, Imds};
use crate::state::{self, Kept, State};

pub(crate) use render::render;

/// What a look brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As it should be.
    Right,
    /// Not wrong by itself, or not to be told.
    Doubtful,
    /// The journey ends here, or will.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// The step that it belongs to, or what comes before all steps.
    pub(crate) step: &'static str,
    pub(crate) verdict: Verdict,
    /// What was found, and on failure its remedy.
    pub(crate) text: String,
}

impl Check {
    fn of(step: &'static str, outcome: anyhow::Result<String>) -> Self {
        let (verdict, text) = match outcome {
            Ok(text) => (Verdict::Right, text),
            Err(error) => (Verdict::Wrong, format!("{error:#}")),
        };
        Self { step, verdict, text }
    }

    fn doubtful(step: &'static str, text: impl Into<String>) -> Self {
        Self {
            step,
            verdict: Verdict::Doubtful,
            text: text.into(),
        }
    }
}

/// What an earlier claim brought to this machine, as the later checks need it.
struct Given {
    kept: Kept,
    document: Document,
    joined: bool,
}

/// Looks at everything, in the order of the journey. What cannot be looked at without an earlier step says so.
pub(crate) async fn examine(file: &Path) -> Vec<Check> {
    let settings = match Settings::load(file) {
        Ok(settings) => settings,
        Err(problems) => return vec![Check::of("configuration", Err(problems.into()))],
    };
    let mut checks = vec![Check::of(
        "configuration",
        Ok(format!("`{}` names {}", file.display(), settings.provisioner)),
    )];
    let facts = facts::look(&Imds::new()).await;
    let known = facts.as_ref().ok().cloned();
    checks.push(Check::of(
        "facts",
        facts.map(|it| format!("{} is a {} in {}", it.id, it.instance_type, it.zone)),
    ));
    checks.extend(network::provisioner(&settings).await);
    let given = known.as_ref().and_then(given);
    match &given {
        Some(given) => {
            checks.push(Check::of("tunnel", network::tunnel()));
            checks.extend(network::names(given).await);
        }
        None => checks.push(Check::doubtful(
            "tunnel",
            "nothing was handed out to this instance yet, so tunnel and names cannot be told",
        )),
    }
    let joined = given.as_ref().is_some_and(|it| it.joined);
    checks.extend(host::look(&settings, joined).await);
    if let (Some(facts), Some(given)) = (&known, given.filter(|it| it.joined)) {
        checks.push(Check::of("ready", network::node(facts, &given).await));
        checks.extend(network::around(&given).await);
    }
    checks
}

fn given(facts: &Facts) -> Option<Given> {
    let state = State::at(Path::new(state::BASE), &facts.id);
    let kept = state.kept().unwrap_or_else(|error| {
        debug!("{error:#}");
        None
    })?;
    let document = Document::parse(kept.wireguard.expose()).ok()?;
    Some(Given {
        joined: state.has_joined(),
        kept,
        document,
    })
}
