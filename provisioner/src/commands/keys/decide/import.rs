//! Which files become Secrets: all of them or none.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use dynk8s_api::Secret;
use dynk8s_api::wireguard::Document;

use super::inventory::Entry;
use crate::document::{self, Warning};

/// A file as it was read.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: Secret,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) text: Secret,
    /// Whether the Secret is there already, with this very text.
    pub(crate) present: bool,
    pub(crate) warnings: Vec<Warning>,
}

/// A file that parses, and what must be unlike all others.
struct Candidate<'a> {
    file: &'a File,
    name: String,
    public_key: Option<String>,
    addresses: Vec<IpAddr>,
    warnings: Vec<Warning>,
}

/// Plans the import, or says all that stands against it.
pub(crate) fn plan(files: &[File], present: &[Entry]) -> Result<Vec<Import>, Vec<String>> {
    let mut refusals = Vec::new();
    let mut candidates = Vec::new();
    for file in files {
        match Candidate::read(file) {
            Ok(candidate) => candidates.push(candidate),
            Err(found) => refusals.extend(found.iter().map(|it| format!("`{}`: {it}", file.path.display()))),
        }
    }
    let mut imports = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let same = present.iter().find(|it| it.name == candidate.name);
        let is_there = same.is_some_and(|it| it.text.as_ref() == Some(&candidate.file.text));
        let among_files = candidates[..at].iter().filter_map(|it| candidate.clashes_with_file(it));
        let in_cluster = present.iter().filter_map(|it| candidate.clashes_with_key(it));
        let in_cluster = in_cluster.filter(|_| !is_there);
        let path = candidate.file.path.display();
        refusals.extend(among_files.chain(in_cluster).map(|it| format!("`{path}`: {it}")));
        imports.push(Import {
            name: candidate.name.clone(),
            text: candidate.file.text.clone(),
            present: is_there,
            warnings: candidate.warnings.clone(),
        });
    }
    if refusals.is_empty() {
        Ok(imports)
    } else {
        Err(refusals)
    }
}

impl<'a> Candidate<'a> {
    fn read(file: &'a File) -> Result<Self, Vec<String>> {
        let document = Document::parse(file.text.expose()).map_err(|error| vec![error.to_string()])?;
        let mut refusals = document::refusals(&document);
        let name = name(&file.path);
        if name.is_none() {
            refusals.push("no Secret can be named after it; name it with letters, digits and `-`".to_owned());
        }
        match name {
            Some(name) if refusals.is_empty() => Ok(Self {
                file,
                name,
                public_key: document::public_key(&document).map(String::from),
                addresses: document::addresses(&document).collect(),
                warnings: document::warnings(&document),
            }),
            _ => Err(refusals),
        }
    }

    fn clashes_with_file(&self, other: &Self) -> Option<String> {
        let path = other.file.path.display();
        if self.name == other.name {
            return Some(format!(
                "its Secret would be named `{}`, as that of `{path}`",
                self.name
            ));
        }
        if self.public_key == other.public_key {
            return Some(format!("it has the private key of `{path}`"));
        }
        let address = self.addresses.iter().find(|it| other.addresses.contains(it))?;
        Some(format!("it has the address `{address}` of `{path}`"))
    }

    fn clashes_with_key(&self, other: &Entry) -> Option<String> {
        let name = &other.name;
        if self.name == *name {
            let way_out = "rename the file, or retire that key first";
            return Some(format!("there is a Secret `{name}` with another content; {way_out}"));
        }
        if self.public_key.is_some() && self.public_key == other.public_key {
            return Some(format!("it has the private key of Secret `{name}`"));
        }
        let address = self.addresses.iter().find(|it| other.addresses.contains(it))?;
        Some(format!("it has the address `{address}` of Secret `{name}`"))
    }
}

/// The name of a file's Secret: a DNS label.
fn name(path: &Path) -> Option<String> {
    let stem = path.file_name()?.to_str()?;
    let stem = stem.strip_suffix(".conf").unwrap_or(stem);
    let letter = |it: char| match it {
        '_' | '.' | ' ' => '-',
        other => other.to_ascii_lowercase(),
    };
    let name: String = stem.chars().map(letter).collect();
    is_label(&name).then_some(name)
}

/// Whether it is a DNS label (RFC 1123).
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    (1..=63).contains(&text.len()) && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use test_case::test_case;

    use super::name;

    #[test_case("burst-1.conf", Some("burst-1"); "as it is")]
    #[test_case("/etc/wireguard/Burst_1.conf", Some("burst-1"); "a path, capitals and underscores")]
    #[test_case("10.98.0.2.conf", Some("10-98-0-2"); "an address")]
    #[test_case("burst", Some("burst"); "without an ending")]
    #[test_case(".conf", None; "nothing but the ending")]
    #[test_case("_.conf", None; "nothing but a hyphen")]
    #[test_case("bürst.conf", None; "letters that DNS does not have")]
    #[test_case("a234567890123456789012345678901234567890123456789012345678901234.conf", None; "too long")]
    fn a_secret_is_named_after_its_file(path: &str, expected: Option<&str>) {
        assert_eq!(name(Path::new(path)).as_deref(), expected);
    }
}
