//! What can be wrong with a wg-quick document, and the way out. No fault holds a value, for any may be a secret.

use super::bounds;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the WireGuard configuration: {fault}")]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The fault.
    pub fault: Fault,
}

/// The ways in which a line can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than the bound.
    #[error("the document is longer than {} bytes", bounds::LENGTH)]
    TooLong,
    /// More entries of a kind than the bound.
    #[error("there are more than {limit} `{what}`; summarize or remove some")]
    TooMany {
        /// The section or the key.
        what: &'static str,
        /// The bound.
        limit: usize,
    },
    /// A line that is neither a section, an assignment nor a comment.
    #[error("expected `Key = value` or a section")]
    NoAssignment,
    /// An unknown section.
    #[error("unknown section; only [Interface] and [Peer] exist")]
    UnknownSection,
    /// An assignment before the first section.
    #[error("`{0}` stands before any section")]
    NoSection(String),
    /// A key that neither wg nor wg-quick knows in this section.
    #[error("unknown key `{key}`; {}", remedy(hint))]
    UnknownKey {
        /// The key as it stands there, made printable.
        key: String,
        /// What may have been meant.
        hint: Hint,
    },
    /// A key that makes wg-quick run commands or rewrite the file.
    #[error("`{0}` is not supported, for it would run commands or rewrite the file; remove it")]
    Unsupported(&'static str),
    /// A value that does not parse.
    #[error("`{key}` must be {expected}")]
    Invalid {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// Something that may stand once.
    #[error("`{0}` stands here a second time")]
    Repeated(&'static str),
    /// Two peers with one key, which WireGuard takes for one peer.
    #[error("a second [Peer] has this `PublicKey`; write both as one")]
    RepeatedPeer,
    /// Something required is absent.
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

/// What may have been meant by an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing that is known.
    None,
    /// A key of this name.
    Key(&'static str),
    /// The same key, in this section.
    Section(&'static str),
}

fn remedy(hint: &Hint) -> String {
    match hint {
        Hint::None => "remove it or correct its spelling".to_owned(),
        Hint::Key(key) => format!("did you mean `{key}`?"),
        Hint::Section(section) => format!("it belongs to {section}"),
    }
}
