//! What lines look like, and a place that keeps them for tests of others.

use std::io::{Result, Write};
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use tracing::{Dispatch, info, info_span, warn};

use super::*;

/// Keeps what is written.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Written {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|it| serde_json::from_str(it).unwrap())
            .collect()
    }
}

/// While there is one listener only, whether anybody listens to a line is asked on the thread that comes to it first, and
/// remembered for all threads: another test's, that does not listen.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// Keeps everything that this program says on this thread, as JSON, and what libraries say to an operator.
pub(crate) fn listen() -> (Written, tracing::subscriber::DefaultGuard) {
    LazyLock::force(&SECOND);
    let written = Written::default();
    let filter = EnvFilter::new(format!("{DEFAULT},dynk8s_provisioner=trace"));
    let guard = tracing::subscriber::set_default(json(filter, written.clone()));
    (written, guard)
}

#[test]
fn a_line_has_the_fields_of_its_spans_too() {
    let (written, _guard) = listen();
    info_span!("outer", instance = "i-0123abcd", count = 1).in_scope(|| {
        info_span!("inner", count = 2).in_scope(|| warn!(right = true, share = 0.5, text = ?"a\"b", "it\nhappened"));
    });
    let mut line = written.lines().remove(0);
    let time = line.as_object_mut().unwrap().remove("timestamp").unwrap();
    assert_eq!(time.as_str().unwrap().len(), "2026-12-02T01:02:03.456789Z".len());
    let expected = json!({ "level": "WARN", "message": "it\nhappened", "instance": "i-0123abcd", "count": 2,
        "right": true, "share": 0.5, "text": "\"a\\\"b\"" });
    assert_eq!(line, expected);
    assert_eq!(written.text().lines().count(), 1);
}

#[test]
fn an_event_names_its_fields_better_than_its_spans_do() {
    let (written, _guard) = listen();
    info_span!("outer", instance = "i-00000001").in_scope(|| info!(instance = "i-00000002", "it"));
    assert_eq!(written.lines()[0]["instance"], "i-00000002");
}

#[test]
fn spans_of_libraries_are_not_ours() {
    let (written, _guard) = listen();
    info_span!(target: "library", "outer", instance = "i-00000001").in_scope(|| info!("it"));
    assert_eq!(written.lines()[0].get("instance"), None);
}

#[test]
fn a_person_reads_the_span_before_the_message() {
    let written = Written::default();
    let subscriber = human(EnvFilter::new(DEFAULT), written.clone(), false);
    tracing::subscriber::with_default(subscriber, || {
        info_span!("reconcile", instance = "i-0123abcd").in_scope(|| info!(count = 1, "it happened"));
    });
    let text = written.text();
    assert!(
        text.ends_with("INFO reconcile{instance=\"i-0123abcd\"}: it happened count=1\n"),
        "{text}"
    );
}

#[test]
fn an_event_is_one_line_for_a_person_too() {
    let written = Written::default();
    let subscriber = human(EnvFilter::new(DEFAULT), written.clone(), false);
    tracing::subscriber::with_default(subscriber, || {
        warn!(error = %"one\n\ttwo", text = "three\nfour", "refused:\n\u{1b}[2J{}", "five\u{2028}six");
    });
    let text = written.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.ends_with("WARN refused: [2Jfive six error=one two text=\"three\\nfour\"\n"),
        "{text}"
    );
}
