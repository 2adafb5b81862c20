//! The first question to the API server, which may come up later than we do.

use std::time::Duration;

use kube::{Client, Error};
use tokio::time::sleep;
use tracing::warn;

use super::check;
use crate::api_server::Fault;

/// How long to wait before it is asked again.
const PAUSE: Duration = Duration::from_secs(2);

/// Checks what must be true of the cluster, once it can be asked.
pub(super) async fn checked(client: &Client) -> anyhow::Result<()> {
    loop {
        match check::no_automatic_approval(client).await {
            Err(error) if error.downcast_ref().is_some_and(may_pass) => {
                warn!(error = format!("{error:#}"), "waiting for the API server");
                sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Whether time helps: against a refusal it does not.
fn may_pass(Fault(error): &Fault) -> bool {
    match error {
        Error::Api(status) => status.code >= 500,
        _ => true,
    }
}
