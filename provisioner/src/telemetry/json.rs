//! One object a line: the fields of the event, and those of the spans that it is in, side by side. So `instance` is found in
//! the same place whether the line itself names it or whatever it is part of.

use std::fmt::{self, Debug};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Spans of libraries say nothing that ours do not.
const OUR_SPANS: &str = "dynk8s_provisioner";

pub(super) struct Lines;

impl<S> FormatEvent<S, JsonFields> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line(Map::new());
        line.set("timestamp", format!("{:.6}", Timestamp::now()));
        line.set("level", event.metadata().level().as_str());
        event.record(&mut line);
        for span in context.event_scope().into_iter().flatten() {
            if span.metadata().target().starts_with(OUR_SPANS) {
                line.add(span.extensions().get::<FormattedFields<JsonFields>>());
            }
        }
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

struct Line(Map<String, Value>);

impl Line {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Fields of a span, unless something within it has named them already.
    fn add(&mut self, fields: Option<&FormattedFields<JsonFields>>) {
        let fields = fields.map(|it| serde_json::from_str::<Map<String, Value>>(&it.fields));
        for (name, value) in fields.and_then(Result::ok).into_iter().flatten() {
            self.0.entry(name).or_insert(value);
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), value);
    }
}
