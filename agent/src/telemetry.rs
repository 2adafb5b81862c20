//! One sink: short lines on standard error. The journal and, through the unit, the console of the machine read them.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts logging. A second call changes nothing.
pub fn start() {
    // systemd sets it where standard error leads to the journal.
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .event_format(Line { journal });
    let ours = Targets::new()
        .with_default(Level::ERROR)
        .with_target("dynk8s_agent", Level::INFO);
    let _already_started = tracing_subscriber::registry().with(layer).with(ours).try_init();
}

struct Line {
    journal: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let level = *event.metadata().level();
        if self.journal {
            write!(writer, "<{}>", priority(level))?;
        } else if level <= Level::WARN {
            write!(writer, "{}: ", level.as_str().to_ascii_lowercase())?;
        }
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// The priority that `sd-daemon(3)` reads at the head of a line.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}
