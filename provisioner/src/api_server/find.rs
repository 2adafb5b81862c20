//! Where the API server is, and as whom to speak to it: where kubectl would go, or the cluster that this process is in.

use std::env;
use std::error::Error as StdError;
use std::path::PathBuf;

use anyhow::{Chain, Error, anyhow};
use axum::http::HeaderValue;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::fault::{Fault, told};

/// The configuration; a `context` must be one of the kubeconfig's.
pub(super) async fn config(context: Option<String>) -> anyhow::Result<Config> {
    let is_named = context.is_some();
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let error = match Config::from_kubeconfig(&options).await {
        Ok(config) if can_be_sent(&config) => return Ok(config),
        Ok(_) => return Err(named(anyhow!("the user's token cannot be sent in a header"), &files())),
        Err(error) => error,
    };
    if is_named {
        return Err(unusable(&error));
    }
    // Whoever is no pod is not told that he is none: the kubeconfig is what he can mend.
    Config::incluster().map_err(|_| unusable(&error))
}

/// What kept a client from being made of a configuration; where that is the kubeconfig's fault, its files are named.
pub(super) fn at_fault(error: kube::Error) -> Error {
    let is_kubeconfig = Chain::new(&error).any(<dyn StdError>::is::<KubeconfigError>);
    let error = Error::new(Fault(error));
    if is_kubeconfig { named(error, &files()) } else { error }
}

fn unusable(error: &KubeconfigError) -> Error {
    let said = told(error);
    if matches!(error, KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath) {
        return anyhow!(said);
    }
    let mut files = files();
    if matches!(error, KubeconfigError::Parse(_)) {
        files.retain(|it| matches!(Kubeconfig::read_from(it), Err(KubeconfigError::Parse(_))));
    }
    named(anyhow!(said), &files)
}

fn named(error: Error, files: &[PathBuf]) -> Error {
    let names: Vec<String> = files.iter().map(|it| format!("`{}`", it.display())).collect();
    error.context(format!("failed to use the kubeconfig {}", names.join(", ")))
}

/// The client panics with a token that is none.
fn can_be_sent(config: &Config) -> bool {
    let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
    user["token"]
        .as_str()
        .is_none_or(|it| HeaderValue::from_str(it).is_ok())
}

/// The files that the kubeconfig is made of.
fn files() -> Vec<PathBuf> {
    let listed = env::var_os("KUBECONFIG").unwrap_or_default();
    let listed: Vec<PathBuf> = env::split_paths(&listed)
        .filter(|it| !it.as_os_str().is_empty())
        .collect();
    if listed.is_empty() {
        return env::home_dir().map(|it| it.join(".kube/config")).into_iter().collect();
    }
    listed
}
