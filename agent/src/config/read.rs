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
mod tests {
    use std::time::Duration;

    use test_case::test_case;

    use super::settings;

    const GOOD: &str = "
        provisioner = \"https://dynk8s.example.com\"
        provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"
    ";

    fn faults(text: &str) -> Vec<String> {
        settings(text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn reads_the_least_that_is_needed() {
        let it = settings(GOOD).unwrap();
        assert_eq!(it.provisioner.as_str(), "https://dynk8s.example.com/");
        assert_eq!((it.ca_file, it.cri_socket), (None, None));
        assert_eq!(it.deadlines.claim, Duration::from_mins(10));
    }

    #[test]
    fn reads_everything() {
        let text = format!(
            "{GOOD}\nca_file = \"/etc/ca.pem\"\ncri_socket = \"unix:///run/x.sock\"\n[deadlines]\nclaim = \"90s\"\njoin = \"15m\""
        );
        let it = settings(&text).unwrap();
        assert_eq!(it.ca_file.unwrap().to_str(), Some("/etc/ca.pem"));
        assert_eq!(it.cri_socket.as_deref(), Some("unix:///run/x.sock"));
        assert_eq!(it.deadlines.claim, Duration::from_secs(90));
        assert_eq!(it.deadlines.join, Duration::from_mins(15));
    }

    #[test]
    fn reads_the_file_that_is_shipped() {
        let shipped = include_str!("../../../packaging/etc/agent.toml");
        let answered = shipped.replace(
            "provisioner_key = \"\"",
            "provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"",
        );
        settings(&answered).unwrap();
        let uncommented = answered.replace("\n#: ", "\n");
        assert_eq!(settings(&uncommented).unwrap().deadlines, super::Deadlines::default());
    }

    #[test]
    fn lists_every_fault_at_once() {
        assert_eq!(
            faults("provisionr = \"x\"\nca_file = 1\n[deadlines]\nclaims = \"1s\"\njoin = \"soon\""),
            [
                "`provisionr` is unknown; did you mean `provisioner`?",
                "`provisioner` is missing",
                "`provisioner_key` is missing",
                "`ca_file` must be a string, not an integer",
                "`deadlines.claims` is unknown; did you mean `claim`?",
                "`deadlines.join` must be a length of time between 1s and 1h, as in \"90s\" or \"10m\"",
            ]
        );
    }

    #[test_case("provisioner = \"http://a.example\"", "must be a URL that begins with https://"; "not https")]
    #[test_case("provisioner = \"a.example\"", "is no URL"; "no scheme")]
    #[test_case("provisioner = \"https://a.example/path\"", "must be scheme, host and port alone"; "a path")]
    #[test_case("provisioner = \"https://u:p@a.example\"", "must be scheme, host and port alone"; "credentials")]
    #[test_case("provisioner_key = \"AAAA\"", "is no key"; "a short key")]
    #[test_case("ca_file = \"ca.pem\"", "must be an absolute path"; "a relative path")]
    #[test_case("cri_socket = \"/run/x.sock\"", "must be a socket"; "a path for a socket")]
    #[test_case("cri_socket = \"unix:///run/x --evil\"", "must be a socket"; "an argument smuggled in")]
    #[test_case("deadlines = 3", "must be a table"; "no table")]
    #[test_case("deadlines = { join = \"0s\" }", "between 1s and 1h"; "no time at all")]
    #[test_case("deadlines = { join = \"-5m\" }", "between 1s and 1h"; "negative time")]
    #[test_case("deadlines = { join = 5 }", "must be a string"; "a bare number")]
    #[test_case("completely_different = 1", "known are provisioner"; "nothing near")]
    #[test_case("= nonsense", "is not TOML"; "not TOML")]
    fn says_what_is_wrong(text: &str, expected: &str) {
        let faults = faults(text);
        assert!(faults.iter().any(|it| it.contains(expected)), "{faults:?}");
    }
}
