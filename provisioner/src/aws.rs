//! Names of AWS: accounts, regions and partitions.

/// A partition: a set of regions with names, accounts and credentials of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    Commercial,
    China,
    GovCloud,
    /// The European Sovereign Cloud.
    Sovereign,
}

impl Partition {
    /// The partition that a region belongs to.
    pub fn of_region(region: &str) -> Self {
        if region.starts_with("cn-") {
            Self::China
        } else if region.starts_with("us-gov-") {
            Self::GovCloud
        } else if region.starts_with("eusc-") {
            Self::Sovereign
        } else {
            Self::Commercial
        }
    }

    /// As ARNs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commercial => "aws",
            Self::China => "aws-cn",
            Self::GovCloud => "aws-us-gov",
            Self::Sovereign => "aws-eusc",
        }
    }

    /// What the names of its services end in.
    pub fn dns_suffix(self) -> &'static str {
        match self {
            Self::Commercial | Self::GovCloud => "amazonaws.com",
            Self::China => "amazonaws.com.cn",
            Self::Sovereign => "amazonaws.eu",
        }
    }
}

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

    use super::{Partition, is_account, is_region};

    #[test_case("eu-central-1", true; "commercial")]
    #[test_case("us-gov-west-1", true; "govcloud")]
    #[test_case("cn-north-1", true; "china")]
    #[test_case("eusc-de-east-1", true; "european sovereign cloud")]
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

    #[test_case("eu-central-1", Partition::Commercial)]
    #[test_case("cn-northwest-1", Partition::China)]
    #[test_case("us-gov-east-1", Partition::GovCloud)]
    #[test_case("eusc-de-east-1", Partition::Sovereign)]
    fn knows_the_partition(region: &str, partition: Partition) {
        assert_eq!(Partition::of_region(region), partition);
    }
}
