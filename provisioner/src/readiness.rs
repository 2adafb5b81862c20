//! Whether this process can do its work now: it has what it needed at the start, and the API server answers.
//!
//! Liveness is another question: to kill a process for the API server's absence would not bring it back.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::Request;
use kube::Client;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::stop::Stop;

/// How often the API server is asked whether it is there, and how long it may take to say so.
const EVERY: Duration = Duration::from_secs(5);

/// An API server that has not answered for this long is away. A leader election or a rolling restart takes less.
const AWAY_AFTER: Duration = Duration::from_secs(30);

/// What readiness depends on; a clone shares it.
#[derive(Clone, Debug)]
pub struct Readiness {
    stop: Stop,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    missing: BTreeSet<&'static str>,
    answered: Option<Instant>,
}

impl Readiness {
    /// Ready until `stop` is asked, once the API server has answered.
    pub fn new(stop: Stop) -> Self {
        Self {
            stop,
            state: Arc::default(),
        }
    }

    /// Not ready without this.
    pub fn needs(&self, what: &'static str) {
        self.state().missing.insert(what);
    }

    /// This is there now.
    pub fn has(&self, what: &'static str) {
        self.state().missing.remove(what);
    }

    /// Nothing if it is ready, else why it is not.
    pub fn obstacle(&self) -> Option<String> {
        if self.stop.is_asked() {
            return Some("asked to stop".to_owned());
        }
        let state = self.state();
        match state.answered {
            None => return Some("the API server has not answered yet".to_owned()),
            Some(it) if it.elapsed() > AWAY_AFTER => {
                return Some(format!("the API server has not answered for {AWAY_AFTER:?}"));
            }
            Some(_) => {}
        }
        let missing: Vec<&str> = state.missing.iter().copied().collect();
        (!missing.is_empty()).then(|| format!("waits for {}", missing.join(", ")))
    }

    /// Asks the API server now and then whether it is there, for ever.
    pub async fn follow(self, client: Client) {
        let mut was_there = true;
        loop {
            let is_there = answers(&client).await;
            if is_there {
                self.state().answered = Some(Instant::now());
            }
            match (was_there, is_there) {
                (true, false) => warn!("the API server does not answer"),
                (false, true) => info!("the API server answers again"),
                _ => {}
            }
            was_there = is_there;
            sleep(EVERY).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the API server says that it is ready itself. Every account may ask; should one not, the refusal is an answer.
async fn answers(client: &Client) -> bool {
    let Ok(request) = Request::get("/readyz").body(Vec::new()) else {
        return false;
    };
    match timeout(EVERY, client.request_text(request)).await {
        Ok(Ok(_)) => true,
        Ok(Err(kube::Error::Api(status))) => status.code < 500,
        Ok(Err(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
