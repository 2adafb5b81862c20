//! wg-quick files become Secrets.

use std::fs::File as Handle;
use std::io::{self, Error, Read as _};
use std::path::Path;

use anyhow::Context as _;
use dynk8s_api::Secret;

use super::create::{NewKey, create, refused};
use super::decide::import::{File, plan};
use crate::cli::keys::Import;
use crate::commands::cluster::Cluster;
use crate::commands::failure::Failure;
use crate::commands::terminal::Console;

/// More than any document that is accepted.
const LONGEST: u64 = 64 * 1024;

pub(super) async fn import(arguments: Import, console: &mut Console) -> Result<(), Failure> {
    let files: Vec<File> = arguments
        .files
        .iter()
        .map(|it| read(it))
        .collect::<anyhow::Result<_>>()?;
    let cluster = Cluster::find(&arguments.access).await?;
    carry_out(&cluster, &files, &arguments.labels, console).await
}

pub(in crate::commands) async fn carry_out(
    cluster: &Cluster,
    files: &[File],
    labels: &[(String, String)],
    console: &mut Console,
) -> Result<(), Failure> {
    let imports = plan(files, &cluster.pool().await?).map_err(|refusals| refused("nothing was imported", &refusals))?;
    let new = imports.iter().filter(|it| !it.present).map(|it| NewKey {
        name: it.name.clone(),
        text: it.text.clone(),
    });
    create(cluster, &new.collect::<Vec<_>>(), labels).await?;
    for import in imports {
        let state = if import.present { "is there already" } else { "created" };
        console.print(&format!("secret/{} {state}\n", import.name))?;
        for warning in import.warnings {
            console.note(&format!("warning: `{}`: {warning}", import.name));
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = whole(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    Ok(File {
        path: path.to_owned(),
        text,
    })
}

fn whole(path: &Path) -> io::Result<Secret> {
    let mut text = String::new();
    let read = Handle::open(path).and_then(|it| it.take(LONGEST + 1).read_to_string(&mut text));
    let text = Secret::new(text);
    if read? as u64 > LONGEST {
        return Err(Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{LONGEST, read};

    #[test_case(0, true; "nothing")]
    #[test_case(LONGEST, true; "as long as may be")]
    #[test_case(LONGEST + 1, false; "a byte more")]
    #[test_case(LONGEST * 3, false; "much more")]
    fn a_file_is_read_whole_or_not_at_all(length: u64, is_read: bool) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "#".repeat(usize::try_from(length).unwrap());
        std::fs::write(file.path(), &text).unwrap();
        match read(file.path()) {
            Ok(it) => assert!(is_read && it.text.expose() == text),
            Err(error) => {
                let (error, name) = (format!("{error:#}"), file.path().display().to_string());
                assert!(!is_read && error.contains(&name) && error.contains("65536"), "{error}");
            }
        }
    }
}
