//! The file: read within bounds, parsed, and checked.

use std::fs::File;
use std::io::{Error, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};

use super::Config;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What the file holds.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    bounded(path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// A text that cannot be parsed has one fault; one that can has all of them listed.
pub(super) fn config(path: &Path, text: &str) -> anyhow::Result<Config> {
    let mut config: Config = toml::from_str(text)
        .map_err(|error| anyhow!("{}", place(text, &error)))
        .with_context(|| format!("failed to understand `{}`", path.display()))?;
    let unusable = config.proof.read_folder();
    let faults = unusable.into_iter().chain(config.faults());
    let faults: Vec<String> = faults.map(|it| it.to_string()).collect();
    if !faults.is_empty() {
        bail!("failed to accept `{}`: {}", path.display(), faults.join("; "));
    }
    Ok(config)
}

fn bounded(path: &Path) -> Result<String, Error> {
    // Before it is opened: to open a pipe is to wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

/// The parser's complaint in one line, without its excerpt of the file.
pub(super) fn place(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|it| text.get(..it.start));
    let line = before.map_or(1, |it| it.matches('\n').count() + 1);
    format!("line {line}: {}", error.message().replace('\n', " "))
}
