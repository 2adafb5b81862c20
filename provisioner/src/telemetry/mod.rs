//! The log on the standard output: for a person, or one line of JSON an event.

mod json;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt::{self, Debug};
use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::util::SubscriberInitExt as _;

/// What an operator should see; the library that runs `reconcile` has little to say to one.
const DEFAULT: &str = "info,kube_runtime=warn";

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text
    Human,
    /// One object a line
    Json,
}

/// Starts logging; where nothing else is said, a terminal is read by a person. `RUST_LOG` chooses what is told.
pub fn start(format: Option<Format>) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let terminal = std::io::stdout().is_terminal();
    let usual = if terminal { Format::Human } else { Format::Json };
    match format.unwrap_or(usual) {
        Format::Human => human(filter, std::io::stdout, terminal).init(),
        Format::Json => json(filter, std::io::stdout).init(),
    }
}

fn human<W>(filter: EnvFilter, writer: W, colours: bool) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(colours)
        .with_target(false)
        .fmt_fields(debug_fn(field).delimited(" "))
        .finish()
}

/// An event is a line, whatever it quotes.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let text = one_line(&format!("{value:?}"));
    match field.name() {
        "message" => write!(writer, "{text}"),
        name => write!(writer, "{name}={text}"),
    }
}

/// What others have written, in one line: the message of an admission controller may have several.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|it: char| it.is_whitespace() || it.is_control());
    words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

fn json<W>(filter: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .json()
        .event_format(json::Lines)
        .finish()
}
