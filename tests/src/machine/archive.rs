//! The archives that carry files into a machine: cpio, in the form that the kernel unpacks at boot ("newc").

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

/// A file for a machine, owned by root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    path: PathBuf,
    mode: u32,
    content: Vec<u8>,
}

impl File {
    /// A regular file; `mode` are its permissions, such as `0o644`.
    pub fn new(path: impl Into<PathBuf>, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode: REGULAR | mode,
            content: content.into(),
        }
    }

    /// A symbolic link.
    pub fn link(path: impl Into<PathBuf>, target: &str) -> Self {
        Self {
            path: path.into(),
            mode: LINK,
            content: target.into(),
        }
    }
}

/// Writes an archive of the files, and of the folders that they are in, all below the folder `root` of whoever unpacks it.
pub(super) fn write(files: &[File], root: &str, output: &mut impl Write) -> anyhow::Result<()> {
    let placed: Vec<_> = files.iter().map(|file| (place(root, &file.path), file)).collect();
    let folders: BTreeSet<_> = placed.iter().flat_map(|(path, _)| path.ancestors().skip(1)).collect();
    let mut number = 0;
    let mut entry = |path: &Path, mode, content: &[u8]| {
        number += 1;
        write_entry(output, number, &path.to_string_lossy(), mode, content)
            .with_context(|| format!("failed to archive `{}`", path.display()))
    };
    for folder in folders.into_iter().filter(|it| !it.as_os_str().is_empty()) {
        entry(folder, DIRECTORY, b"")?;
    }
    for (path, file) in &placed {
        entry(path, file.mode, &file.content)?;
    }
    entry(Path::new("TRAILER!!!"), 0, b"")
}

fn place(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

fn write_entry(output: &mut impl Write, number: u32, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
    let size = u32::try_from(content.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    // Number, mode, owner, group, links, time, size, four device numbers, length of the name with its end, unused checksum.
    let fields = [number, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, length_of(name)?, 0];
    let mut header = String::from("070701");
    header.extend(fields.map(|field| format!("{field:08x}")));
    header.push_str(name);
    header.push('\0');
    pad(output, header.as_bytes())?;
    pad(output, content)
}

fn length_of(name: &str) -> io::Result<u32> {
    u32::try_from(name.len() + 1).map_err(|_| io::Error::from(io::ErrorKind::InvalidFilename))
}

fn pad(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    output.write_all(bytes)?;
    output.write_all(&[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[File], root: &str) -> Vec<u8> {
        let mut archive = Vec::new();
        write(files, root, &mut archive).unwrap();
        archive
    }

    #[test]
    fn an_entry_is_as_the_kernel_reads_it() {
        let archive = archive(&[File::new("/a", 0o640, "12345")], "");
        let header = "070701\
            00000001000081a00000000000000000000000010000000000000005\
            000000000000000000000000000000000000000200000000";
        let mut expected = format!("{header}a\0").into_bytes();
        assert_eq!(expected.len() % 4, 0);
        expected.extend(b"12345\0\0\0");
        assert_eq!(archive[..expected.len()], expected);
        assert!(archive.len().is_multiple_of(4) && archive.ends_with(b"TRAILER!!!\0\0\0\0"));
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_once() {
        let files = [File::new("/b/c", 0o644, ""), File::link("/b/d", "c")];
        let archive = String::from_utf8(archive(&files, "machine")).unwrap();
        let entries = archive.split("070701").skip(1);
        let modes_and_names: Vec<_> = entries
            .map(|it| (&it[8..16], it[104..].trim_end_matches('\0')))
            .collect();
        assert_eq!(
            modes_and_names,
            [
                ("000041ed", "machine"),
                ("000041ed", "machine/b"),
                ("000081a4", "machine/b/c"),
                ("0000a1ff", "machine/b/d\0\0\0c".trim_end_matches('\0')),
                ("00000000", "TRAILER!!!"),
            ]
        );
    }
}
