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
        let mut text = String::new();
        context.field_format().format_fields(Writer::new(&mut text), event)?;
        writeln!(writer, "{}", one_line(&text))
    }
}

/// An event is a line, whatever it quotes: what follows another newline would be a line without a level, or with a forged one.
fn one_line(text: &str) -> String {
    let words = text.split(|it: char| it.is_control() || it == '\u{2028}' || it == '\u{2029}');
    words
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
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

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::one_line;

    #[test_case("as  it is", "as  it is"; "as it is")]
    #[test_case("refused:\n\t- one\r\n\n  - two\n", "refused: - one - two"; "several lines")]
    #[test_case("one\n<0>two\u{2028}three\u{1b}[2J", "one <0>two three [2J"; "what is no text")]
    fn an_event_is_one_line(text: &str, expected: &str) {
        assert_eq!(one_line(text), expected);
    }
}
