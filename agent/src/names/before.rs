//! What the host's names were before this agent: written down before the first change, and put back by a reset.

mod decide;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use dynk8s_api::InstanceId;

use super::render;
use crate::host::files;
use crate::state::{self, State};
use crate::uplink::nameservers;

use decide::Before;
pub(super) use decide::ResolvConf;

/// The files that are changed in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed<'a> {
    pub(super) resolv_conf: &'a Path,
    pub(super) hosts: &'a Path,
}

impl Changed<'_> {
    /// Writes down what there is, unless that was done before: by now it may be our own.
    pub(super) fn note(self, base: &Path, id: &InstanceId) -> anyhow::Result<()> {
        let record = State::at(base, id).names();
        if record.exists() {
            return Ok(());
        }
        let hosts = files::read(self.hosts)?.unwrap_or_default();
        let before = Before {
            resolv_conf: look(self.resolv_conf)?,
            knew_own_name: render::hosts(&hosts, id.as_str()).is_none(),
        };
        let text = serde_json::to_vec(&before).context("failed to write the host's names down")?;
        files::write(&record, &text, files::PRIVATE)
    }

    /// Puts back what was written down, whichever instance this disk was then, and forgets the records. Says what it did.
    pub(super) fn put_back(self, base: &Path) -> anyhow::Result<Vec<String>> {
        let records = records(base)?;
        let mut done = Vec::new();
        let befores: Vec<&Before> = records.iter().map(|it| &it.before).collect();
        if let Some(wanted) = decide::wanted(&look(self.resolv_conf)?, &befores)? {
            restore(self.resolv_conf, &wanted)?;
            done.push(format!("`{}` is {wanted} again", self.resolv_conf.display()));
        }
        let hosts = files::read(self.hosts)?.unwrap_or_default();
        let ours = records.iter().filter(|it| !it.before.knew_own_name);
        let without = ours.fold(hosts.clone(), |text, it| render::hosts_without(&text, it.id.as_str()));
        if without != hosts {
            files::write(self.hosts, without.as_bytes(), files::PUBLIC)?;
            done.push(format!("`{}` lacks the node's name again", self.hosts.display()));
        }
        records.iter().try_for_each(|it| files::remove(&it.path))?;
        Ok(done)
    }
}

struct Record {
    id: InstanceId,
    path: PathBuf,
    written: SystemTime,
    before: Before,
}

/// The servers that the host's own resolver file named, where nobody but this agent has written it since.
pub(crate) fn servers_before(base: &Path) -> anyhow::Result<Vec<IpAddr>> {
    let records = records(base)?;
    let befores: Vec<&Before> = records.iter().map(|it| &it.before).collect();
    Ok(nameservers(decide::own_text(&befores).unwrap_or_default()))
}

/// All records on this disk, the oldest first.
fn records(base: &Path) -> anyhow::Result<Vec<Record>> {
    let mut records = Vec::new();
    for id in state::instances(base)? {
        let path = State::at(base, &id).names();
        let Some(text) = files::read(&path)? else { continue };
        let named = || format!("failed to read `{}`", path.display());
        let before = serde_json::from_str(&text).with_context(named)?;
        let written = fs::metadata(&path).and_then(|it| it.modified()).with_context(named)?;
        records.push(Record {
            id,
            path,
            written,
            before,
        });
    }
    records.sort_by_key(|it| it.written);
    Ok(records)
}

/// What a resolver file is.
pub(super) fn look(path: &Path) -> anyhow::Result<ResolvConf> {
    match fs::read_link(path) {
        Ok(target) => Ok(ResolvConf::Link(target)),
        Err(_) => Ok(files::read(path)?.map_or(ResolvConf::Absent, ResolvConf::File)),
    }
}

/// Makes it that again.
pub(super) fn restore(path: &Path, wanted: &ResolvConf) -> anyhow::Result<()> {
    match wanted {
        ResolvConf::Absent => files::remove(path),
        ResolvConf::Link(target) => files::relink(path, target),
        ResolvConf::File(text) => files::write(path, text.as_bytes(), files::PUBLIC),
    }
}

#[cfg(test)]
mod tests;
