//! The log: one line of JSON an event, or text if a person looks on.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging to the standard output. `RUST_LOG` chooses what; by default what an operator should see.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    if std::io::stdout().is_terminal() {
        log.init();
    } else {
        log.json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init();
    }
}
