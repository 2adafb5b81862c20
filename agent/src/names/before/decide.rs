//! What becomes of `/etc/resolv.conf` when the agent's names are undone.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::names::RESOLVED_FILE;
use crate::names::render::HEADER;

/// What the files were that the names step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Before {
    pub(super) resolv_conf: ResolvConf,
    /// Whether `/etc/hosts` had the node's name in it.
    pub(super) knew_own_name: bool,
}

/// What `/etc/resolv.conf` is, so that it can be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::names) enum ResolvConf {
    Absent,
    Link(PathBuf),
    File(String),
}

/// Only the agent's own file is left, and nobody wrote down what was there before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to put `/etc/resolv.conf` back: it is the agent's, and what it was before is not known; write the host's own \
     resolvers into it"
)]
pub(super) struct Unknown;

/// What to make of the file, if anything; `records` come with the oldest first. What somebody else made of it since stays.
pub(super) fn wanted(now: &ResolvConf, records: &[&Before]) -> Result<Option<ResolvConf>, Unknown> {
    // An image of a machine that was a node has the agent's file from the start: an older record knows better.
    let before = host_own(records);
    match (now, before) {
        (ResolvConf::Link(target), Some(_)) if target != Path::new(RESOLVED_FILE) => Ok(None),
        (ResolvConf::File(_), _) if !now.is_ours() => Ok(None),
        (_, Some(before)) => Ok((before != now).then(|| before.clone())),
        (ResolvConf::File(_), None) => Err(Unknown),
        (ResolvConf::Absent | ResolvConf::Link(_), None) => Ok(None),
    }
}

/// What the host's own resolver file said, if it was a file.
pub(super) fn own_text<'a>(records: &[&'a Before]) -> Option<&'a str> {
    match host_own(records)? {
        ResolvConf::File(text) => Some(text),
        ResolvConf::Absent | ResolvConf::Link(_) => None,
    }
}

fn host_own<'a>(records: &[&'a Before]) -> Option<&'a ResolvConf> {
    records.iter().map(|it| &it.resolv_conf).find(|it| !it.is_ours())
}

impl ResolvConf {
    fn is_ours(&self) -> bool {
        matches!(self, Self::File(text) if text.starts_with(HEADER))
    }
}

impl fmt::Display for ResolvConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Link(target) => write!(f, "a link to `{}`", target.display()),
            Self::File(_) => f.write_str("the host's own file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Before, HEADER, RESOLVED_FILE, ResolvConf, Unknown, wanted};

    const STUB: &str = "../run/systemd/resolve/stub-resolv.conf";

    fn link(target: &str) -> ResolvConf {
        ResolvConf::Link(target.into())
    }

    fn file(text: &str) -> ResolvConf {
        ResolvConf::File(text.to_owned())
    }

    fn ours() -> ResolvConf {
        file(&format!("{HEADER}nameserver 192.168.10.1\n"))
    }

    fn decided(now: &ResolvConf, records: Vec<ResolvConf>) -> Result<Option<ResolvConf>, Unknown> {
        let records: Vec<Before> = records
            .into_iter()
            .map(|resolv_conf| Before {
                resolv_conf,
                knew_own_name: false,
            })
            .collect();
        wanted(now, &records.iter().collect::<Vec<_>>())
    }

    #[test_case(&link(RESOLVED_FILE), vec![link(STUB)], &link(STUB); "the link that was")]
    #[test_case(&ours(), vec![file("nameserver 172.31.0.2\n")], &file("nameserver 172.31.0.2\n"); "the file that was")]
    #[test_case(&ours(), vec![ResolvConf::Absent], &ResolvConf::Absent; "no file")]
    #[test_case(&ResolvConf::Absent, vec![link(STUB)], &link(STUB); "a file that was lost")]
    #[test_case(&ours(), vec![ours(), file("a")], &file("a"); "not the agent's own, of which an image was made")]
    #[test_case(&link(RESOLVED_FILE), vec![link(STUB), link(RESOLVED_FILE)], &link(STUB); "the oldest")]
    fn puts_back(now: &ResolvConf, records: Vec<ResolvConf>, expected: &ResolvConf) {
        assert_eq!(decided(now, records), Ok(Some(expected.clone())));
    }

    #[test_case(&link(STUB), vec![file("a")]; "a link that somebody made since")]
    #[test_case(&file("nameserver 9.9.9.9\n"), vec![link(STUB)]; "a file that somebody wrote since")]
    #[test_case(&link(RESOLVED_FILE), vec![link(RESOLVED_FILE)]; "what is as it was")]
    #[test_case(&link(RESOLVED_FILE), vec![]; "a link that may be the host's own")]
    #[test_case(&ResolvConf::Absent, vec![]; "nothing")]
    fn leaves_alone(now: &ResolvConf, records: Vec<ResolvConf>) {
        assert_eq!(decided(now, records), Ok(None));
    }

    #[test_case(vec![]; "no record")]
    #[test_case(vec![ours()]; "a record of the agent's own file")]
    fn says_that_it_does_not_know(records: Vec<ResolvConf>) {
        assert_eq!(decided(&ours(), records), Err(Unknown));
    }
}
