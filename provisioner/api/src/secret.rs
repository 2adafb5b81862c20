//! Text that must never be seen: keys, tokens, documents that hold one.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Secret text. It prints as `[secret]`, is wiped when dropped, and is reached only by [`Secret::expose`], so that a
/// search for that word finds every place where a secret leaves its type.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Takes text in.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Hands the text out. Never to a log, an argument list, the environment or an error.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn hides_itself() {
        assert_eq!(format!("{:?}", Secret::new("abcdef".to_owned())), "[secret]");
    }
}
