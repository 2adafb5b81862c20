//! The conversation with a machine's guest agent (qemu-ga): lines of JSON through a serial port, which is a socket here.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::sleep;
use uuid::Uuid;

const POLL: Duration = Duration::from_millis(50);
/// The agent itself keeps at most 16 MB of each output.
const LONGEST_ANSWER: u64 = 64 << 20;
/// What the agent sends before its answer to a synchronisation, and nowhere else.
const DELIMITER: u8 = 0xff;

/// What a program in a machine did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit status; 128 and the signal's number, if one ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// An open conversation. The port takes one at a time: the next one waits until this one is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    stream: BufReader<UnixStream>,
}

impl Guest {
    /// Connects, and reads past what is left of an earlier conversation.
    pub(super) async fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket)
            .await
            .with_context(|| format!("failed to connect to `{}`", socket.display()))?;
        let mut guest = Self {
            stream: BufReader::new(stream),
        };
        let id = Uuid::new_v4().as_u64_pair().0 >> 32;
        guest
            .send(&json!({"execute": "guest-sync-delimited", "arguments": {"id": id}}))
            .await?;
        while guest
            .line()
            .await?
            .rsplit(|byte| *byte == DELIMITER)
            .next()
            .and_then(answered)
            != Some(id.into())
        {}
        Ok(guest)
    }

    /// Runs a program to its end.
    pub(super) async fn exec(&mut self, words: &[&str]) -> anyhow::Result<Output> {
        let [program, arguments @ ..] = words else {
            bail!("no program is named");
        };
        let started: Started = self
            .ask(
                "guest-exec",
                &json!({"path": program, "arg": arguments, "capture-output": true}),
            )
            .await?;
        loop {
            let status: Status = self.ask("guest-exec-status", &json!({"pid": started.pid})).await?;
            if status.exited {
                return status.output();
            }
            sleep(POLL).await;
        }
    }

    async fn ask<T: for<'de> Deserialize<'de>>(&mut self, what: &str, arguments: &Value) -> anyhow::Result<T> {
        self.send(&json!({"execute": what, "arguments": arguments})).await?;
        let answer: Answer = serde_json::from_slice(&self.line().await?)
            .with_context(|| format!("failed to read the answer to `{what}`"))?;
        match answer {
            Answer::Return(value) => {
                serde_json::from_value(value).with_context(|| format!("failed to read the answer to `{what}`"))
            }
            Answer::Error { desc } => bail!("the guest agent refuses `{what}`: {desc}"),
        }
    }

    async fn send(&mut self, request: &Value) -> anyhow::Result<()> {
        let mut line = request.to_string();
        line.push('\n');
        self.stream
            .write_all(line.as_bytes())
            .await
            .context("failed to write to the guest agent")
    }

    async fn line(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.stream).take(LONGEST_ANSWER);
        bounded
            .read_until(b'\n', &mut line)
            .await
            .context("failed to read from the guest agent")?;
        if !line.ends_with(b"\n") {
            bail!("the guest agent's answer has no end");
        }
        Ok(line)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Return(Value),
    Error { desc: String },
}

#[derive(Deserialize)]
struct Started {
    pid: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    exited: bool,
    exitcode: Option<i32>,
    signal: Option<i32>,
    #[serde(default)]
    out_data: String,
    #[serde(default)]
    err_data: String,
    #[serde(default)]
    out_truncated: bool,
}

impl Status {
    fn output(self) -> anyhow::Result<Output> {
        if self.out_truncated {
            bail!("the program printed more than the guest agent keeps");
        }
        Ok(Output {
            code: self.exitcode.or(self.signal.map(|signal| 128 + signal)).unwrap_or(-1),
            stdout: text(&self.out_data)?,
            stderr: text(&self.err_data)?,
        })
    }
}

fn text(encoded: &str) -> anyhow::Result<String> {
    let bytes = BASE64_STANDARD
        .decode(encoded)
        .context("failed to decode what the program printed")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number that an answer returns; what is left of an earlier conversation may be no answer at all.
fn answered(line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line).ok()? {
        Answer::Return(value) => Some(value),
        Answer::Error { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;
    use tokio::net::UnixListener;

    use super::*;

    /// A guest agent that says what is written here, whatever it is asked; `ID` stands for the number to synchronise with.
    async fn converse(answers: &'static [&'static [u8]], words: &[&str]) -> anyhow::Result<Output> {
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        let agent = async {
            let mut stream = BufReader::new(listener.accept().await?.0);
            let mut request = String::new();
            stream.read_line(&mut request).await?;
            let request: Value = serde_json::from_str(&request)?;
            let synchronised = format!("\"stale\"}}\n\u{0}{{\"return\": {}}}\n", request["arguments"]["id"]);
            let bytes: Vec<_> = synchronised
                .bytes()
                .map(|it| if it == 0 { DELIMITER } else { it })
                .collect();
            stream.write_all(&bytes).await?;
            for answer in answers {
                stream.read_line(&mut String::new()).await?;
                stream.write_all(answer).await?;
            }
            anyhow::Ok(())
        };
        let asker = async { Guest::connect(&socket).await?.exec(words).await };
        tokio::join!(asker, agent).0
    }

    #[tokio::test]
    async fn a_program_runs_to_its_end() {
        let answers: &[&[u8]] = &[
            b"{\"return\": {\"pid\": 7}}\n",
            b"{\"return\": {\"exited\": false}}\n",
            b"{\"return\": {\"exited\": true, \"exitcode\": 3, \"out-data\": \"b3V0\", \"err-data\": \"ZXJy\"}}\n",
        ];
        let output = converse(answers, &["program"]).await.unwrap();
        assert_eq!(
            output,
            Output {
                code: 3,
                stdout: "out".to_owned(),
                stderr: "err".to_owned()
            }
        );
    }

    #[tokio::test]
    async fn a_signal_counts_as_in_a_shell() {
        let answers: &[&[u8]] = &[
            b"{\"return\": {\"pid\": 7}}\n",
            b"{\"return\": {\"exited\": true, \"signal\": 9}}\n",
        ];
        assert_eq!(converse(answers, &["program"]).await.unwrap().code, 137);
    }

    #[test_case(b"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such program\"}}\n", "no such program"; "a refusal")]
    #[test_case(b"nonsense\n", "failed to read the answer"; "nonsense")]
    #[test_case(b"{\"return\": {}}\n", "failed to read the answer"; "an answer to something else")]
    #[test_case(b"{\"return\": {\"pid\": 7}}", "has no end"; "half an answer")]
    #[tokio::test]
    async fn what_is_wrong_is_told(answer: &'static [u8], complaint: &str) {
        let answers: &'static [&'static [u8]] = Box::leak(Box::new([answer]));
        let error = format!("{:#}", converse(answers, &["program"]).await.unwrap_err());
        assert!(error.contains(complaint), "{error}");
    }
}
