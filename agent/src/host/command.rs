//! Other programs: never through a shell, never with a secret among the arguments.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;

/// Of a program's output so many lines are kept, and so many bytes of each.
const KEPT_LINES: usize = 40;
const KEPT_BYTES: u64 = 4096;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Whether it said that all is well.
    pub(crate) success: bool,
    /// The last lines of both its streams.
    pub(crate) lines: Vec<String>,
}

/// Why a program did not end in its own way.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("`{program}` is not installed, or not in PATH")]
    Missing { program: String },
    #[error("failed to run `{program}`")]
    Run {
        program: String,
        #[source]
        source: std::io::Error,
    },
    #[error("`{program}` was stopped because it took longer than {}s", deadline.as_secs())]
    Deadline {
        program: String,
        deadline: Duration,
        /// The last lines that it said until then.
        lines: Vec<String>,
    },
}

/// Runs a program and hands each line of its output to `line`, as it comes.
pub(crate) async fn run(
    program: &str,
    arguments: &[&str],
    deadline: Duration,
    mut line: impl FnMut(&str),
) -> Result<Ended, Error> {
    let failed = |source: std::io::Error| {
        let program = program.to_owned();
        if source.kind() == std::io::ErrorKind::NotFound {
            Error::Missing { program }
        } else {
            Error::Run { program, source }
        }
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (sender, mut receiver) = mpsc::channel(KEPT_LINES);
    tokio::spawn(read_lines(child.stdout.take(), sender.clone()));
    tokio::spawn(read_lines(child.stderr.take(), sender));
    let mut kept = VecDeque::with_capacity(KEPT_LINES);
    let work = async {
        // A child of the program may keep the pipe open for ever, so the program's end ends the reading.
        let status = loop {
            tokio::select! {
                biased;
                Some(text) = receiver.recv() => keep(&mut kept, text, &mut line),
                status = child.wait() => break status.map_err(failed)?,
            }
        };
        while let Ok(Some(text)) = tokio::time::timeout(Duration::from_millis(200), receiver.recv()).await {
            keep(&mut kept, text, &mut line);
        }
        Ok(status.success())
    };
    let ended = tokio::time::timeout(deadline, work).await;
    let lines = kept.into();
    match ended {
        Ok(success) => Ok(Ended {
            success: success?,
            lines,
        }),
        Err(_) => Err(Error::Deadline {
            program: program.to_owned(),
            deadline,
            lines,
        }),
    }
}

fn keep(kept: &mut VecDeque<String>, text: String, line: &mut impl FnMut(&str)) {
    line(&text);
    if kept.len() == KEPT_LINES {
        kept.pop_front();
    }
    kept.push_back(text);
}

async fn read_lines(stream: Option<impl AsyncRead + Unpin>, sender: mpsc::Sender<String>) {
    let Some(stream) = stream else { return };
    let mut reader = BufReader::new(stream);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match (&mut reader).take(KEPT_BYTES).read_until(b'\n', &mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes);
                let text: String = text.trim_end().chars().map(printable).collect();
                if sender.send(text).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn printable(it: char) -> char {
    if it.is_control() { ' ' } else { it }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Error, KEPT_LINES, run};

    const SOON: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn hands_on_both_streams_and_the_status() {
        let mut seen = Vec::new();
        let script = "echo out; printf 'e\\033rr' >&2; exit 3";
        let ended = run("sh", &["-c", script], SOON, |it| seen.push(it.to_owned()))
            .await
            .unwrap();
        seen.sort();
        assert_eq!(seen, ["e rr", "out"]);
        assert!(!ended.success);
    }

    #[tokio::test]
    async fn keeps_the_last_lines() {
        let ended = run("sh", &["-c", "seq 1 100"], SOON, |_| {}).await.unwrap();
        assert!(ended.success);
        assert_eq!(ended.lines.len(), KEPT_LINES);
        assert_eq!(ended.lines.last().unwrap(), "100");
    }

    #[tokio::test]
    async fn is_not_held_up_by_what_the_program_leaves_behind() {
        let ended = run("sh", &["-c", "sleep 30 & echo done"], SOON, |_| {}).await.unwrap();
        assert_eq!(ended.lines, ["done"]);
    }

    #[tokio::test]
    async fn says_what_is_not_installed() {
        let error = run("no-such-program", &[], SOON, |_| {}).await.unwrap_err();
        assert!(matches!(error, Error::Missing { .. }), "{error}");
    }

    #[tokio::test]
    async fn stops_what_takes_too_long() {
        let script = "echo begun; exec sleep 30";
        let error = run("sh", &["-c", script], Duration::from_secs(1), |_| {})
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::Deadline { lines, .. } if lines == &["begun"]),
            "{error:?}"
        );
    }
}
