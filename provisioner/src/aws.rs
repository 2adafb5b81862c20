//! Names of AWS: accounts and regions.

/// Whether this is an account: twelve digits.
pub fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|it| it.is_ascii_digit())
}

/// Whether this has the form of a region: `eu-central-1`, `us-gov-west-1`. It can then be a part of a host name.
pub fn is_region(text: &str) -> bool {
    let mut parts: Vec<&str> = text.split('-').collect();
    let number = parts.pop().unwrap_or_default();
    let letters = |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_lowercase());
    text.len() <= 32
        && matches!(number.as_bytes(), [b'0'..=b'9'])
        && parts.len() >= 2
        && (2..=4).contains(&parts[0].len())
        && parts.iter().all(letters)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{is_account, is_region};

    #[test_case("eu-central-1", true; "commercial")]
    #[test_case("us-gov-west-1", true; "govcloud")]
    #[test_case("cn-north-1", true; "china")]
    #[test_case("eusc-de-east-1", true; "european sovereign cloud")]
    #[test_case("us-isob-east-1", true; "isolated")]
    #[test_case("", false; "empty")]
    #[test_case("eu-1", false; "no direction")]
    #[test_case("eu-central-12", false; "two digits")]
    #[test_case("eu-central-", false; "no digit")]
    #[test_case("EU-central-1", false; "upper case")]
    #[test_case("eu--1", false; "empty part")]
    #[test_case("eu-central-1.evil.example", false; "a longer name")]
    #[test_case("eu-central-1\n", false; "trailing newline")]
    fn knows_a_region(text: &str, valid: bool) {
        assert_eq!(is_region(text), valid);
    }

    #[test_case("123456789012", true; "twelve digits")]
    #[test_case("12345678901", false; "eleven digits")]
    #[test_case("12345678901a", false; "a letter")]
    #[test_case("1234567890123", false; "thirteen digits")]
    fn knows_an_account(text: &str, valid: bool) {
        assert_eq!(is_account(text), valid);
    }
}
