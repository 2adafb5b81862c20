//! Reading the file's text: every key by its name, and all faults at once.

use std::time::Duration;

use jiff::SignedDuration;
use toml::{Table, Value};
use url::Url;

use super::{Deadlines, Problem, Settings};

const KEYS: &[&str] = &["provisioner", "provisioner_key", "ca_file", "cri_socket", "deadlines"];
const DEADLINES: &[&str] = &["facts", "claim", "tunnel", "names", "join", "ready"];

/// A key that differs in at most so many places is taken for a misspelling.
const NEAR: usize = 3;

pub(super) fn settings(text: &str) -> Result<Settings, Vec<Problem>> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        vec![Problem {
            key: None,
            text: format!("is not TOML: {}", error.to_string().trim_end().replace('\n', " ")),
        }]
    })?;
    let mut reader = Reader {
        table: &table,
        prefix: "",
        problems: Vec::new(),
    };
    reader.refuse_unknown(KEYS);
    let provisioner = reader.required("provisioner", provisioner);
    let provisioner_key = reader.required("provisioner_key", |text| {
        text.parse()
            .map_err(|error| format!("is no key ({error}); `dynk8s-provisioner key` prints it"))
    });
    let ca_file = reader.optional("ca_file", |text| absolute(text).map(Into::into));
    let cri_socket = reader.optional("cri_socket", cri_socket);
    let deadlines = reader.deadlines();
    match (provisioner, provisioner_key, reader.problems) {
        (Some(provisioner), Some(provisioner_key), problems) if problems.is_empty() => Ok(Settings {
            provisioner,
            provisioner_key,
            ca_file,
            cri_socket,
            deadlines,
        }),
        (_, _, problems) => Err(problems),
    }
}

struct Reader<'a> {
    table: &'a Table,
    prefix: &'static str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn refuse_unknown(&mut self, known: &[&str]) {
        for key in self.table.keys().filter(|key| !known.contains(&key.as_str())) {
            let nearest = known.iter().min_by_key(|it| strsim::levenshtein(it, key));
            let suggestion = nearest.filter(|it| strsim::levenshtein(it, key) <= NEAR).map_or_else(
                || format!("known are {}", known.join(", ")),
                |it| format!("did you mean `{it}`?"),
            );
            self.problems.push(Problem {
                key: Some(format!("{}{}", self.prefix, key.escape_default())),
                text: format!("is unknown; {suggestion}"),
            });
        }
    }

    fn required<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        if !self.table.contains_key(key) {
            self.complain(key, "is missing".to_owned());
        }
        self.optional(key, parse)
    }

    fn optional<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let parsed = match self.table.get(key)? {
            Value::String(text) => parse(text),
            other => Err(format!("must be a string, not {} {}", article(other), other.type_str())),
        };
        parsed.map_err(|text| self.complain(key, text)).ok()
    }

    fn deadlines(&mut self) -> Deadlines {
        let defaults = Deadlines::default();
        let table = match self.table.get("deadlines") {
            None => return defaults,
            Some(Value::Table(table)) => table,
            Some(_) => {
                self.complain("deadlines", "must be a table".to_owned());
                return defaults;
            }
        };
        let mut inner = Reader {
            table,
            prefix: "deadlines.",
            problems: Vec::new(),
        };
        inner.refuse_unknown(DEADLINES);
        let mut read = |key, default| inner.optional(key, deadline).unwrap_or(default);
        let deadlines = Deadlines {
            facts: read("facts", defaults.facts),
            claim: read("claim", defaults.claim),
            tunnel: read("tunnel", defaults.tunnel),
            names: read("names", defaults.names),
            join: read("join", defaults.join),
            ready: read("ready", defaults.ready),
        };
        self.problems.append(&mut inner.problems);
        deadlines
    }

    fn complain(&mut self, key: &str, text: String) {
        self.problems.push(Problem {
            key: Some(format!("{}{key}", self.prefix)),
            text,
        });
    }
}

fn article(value: &Value) -> &'static str {
    if matches!(value, Value::Integer(_) | Value::Array(_)) {
        "an"
    } else {
        "a"
    }
}

fn provisioner(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("is no URL ({error})"))?;
    let bare =
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
    if url.scheme() != "https" || url.host().is_none() {
        Err("must be a URL that begins with https://".to_owned())
    } else if !bare || url.path() != "/" {
        Err("must be scheme, host and port alone, as in https://dynk8s.example.com".to_owned())
    } else {
        Ok(url)
    }
}

fn absolute(text: &str) -> Result<&str, String> {
    if text.starts_with('/') {
        Ok(text)
    } else {
        Err("must be an absolute path".to_owned())
    }
}

// It is written into a file of kubeadm's that quotes nothing.
fn cri_socket(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("unix://").unwrap_or_default();
    if path.starts_with('/')
        && path
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"/._-".contains(&it))
    {
        Ok(text.to_owned())
    } else {
        Err("must be a socket, as in unix:///run/containerd/containerd.sock".to_owned())
    }
}

fn deadline(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a length of time between 1s and 1h, as in \"90s\" or \"10m\"".to_owned();
    let length: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(length)
        .ok()
        .filter(|it| (Duration::from_secs(1)..=Duration::from_hours(1)).contains(it))
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
