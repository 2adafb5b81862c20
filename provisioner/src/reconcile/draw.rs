//! Random text for bootstrap tokens.

use dynk8s_api::Secret;
use rand::RngExt as _;

const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The public half of a token.
pub(super) fn token_id() -> String {
    draw(6)
}

/// The secret half of a token: 82 bits.
pub(super) fn token_secret() -> Secret {
    Secret::new(draw(16))
}

// `rand::rng` is a cryptographically secure generator, and a range of it is drawn without bias.
fn draw(length: usize) -> String {
    let mut random = rand::rng();
    std::iter::repeat_with(|| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]))
        .take(length)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{draw, token_id, token_secret};

    #[test]
    fn has_the_form_of_a_token() {
        let secret = token_secret();
        for (text, length) in [(token_id().as_str(), 6), (secret.expose(), 16)] {
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'z')), "{text}");
        }
    }

    #[test]
    fn every_character_occurs() {
        let seen: BTreeSet<char> = draw(10_000).chars().collect();
        assert_eq!(seen.len(), 36);
    }
}
