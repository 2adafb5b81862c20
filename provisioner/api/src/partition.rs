//! The partitions of AWS: which one a region belongs to, and what the names of its services end in.

/// A set of regions with names, accounts and credentials of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Where most people are.
    Commercial,
    /// Run by others, in China.
    China,
    /// For the government of the United States.
    GovCloud,
    /// The European Sovereign Cloud.
    Sovereign,
    /// Isolated: without the internet.
    Iso,
    /// Isolated, the second.
    IsoB,
    /// Isolated, in Europe.
    IsoE,
    /// Isolated, the fourth.
    IsoF,
}

impl Partition {
    /// The partition that a region belongs to.
    pub fn of_region(region: &str) -> Self {
        const BEGINNINGS: [(&str, Partition); 7] = [
            ("cn-", Partition::China),
            ("us-gov-", Partition::GovCloud),
            ("eusc-", Partition::Sovereign),
            ("us-iso-", Partition::Iso),
            ("us-isob-", Partition::IsoB),
            ("eu-isoe-", Partition::IsoE),
            ("us-isof-", Partition::IsoF),
        ];
        let named = BEGINNINGS.iter().find(|(beginning, _)| region.starts_with(beginning));
        named.map_or(Self::Commercial, |(_, partition)| *partition)
    }

    /// As ARNs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commercial => "aws",
            Self::China => "aws-cn",
            Self::GovCloud => "aws-us-gov",
            Self::Sovereign => "aws-eusc",
            Self::Iso => "aws-iso",
            Self::IsoB => "aws-iso-b",
            Self::IsoE => "aws-iso-e",
            Self::IsoF => "aws-iso-f",
        }
    }

    /// What the names of its services end in.
    pub fn dns_suffix(self) -> &'static str {
        match self {
            Self::Commercial | Self::GovCloud => "amazonaws.com",
            Self::China => "amazonaws.com.cn",
            Self::Sovereign => "amazonaws.eu",
            Self::Iso => "c2s.ic.gov",
            Self::IsoB => "sc2s.sgov.gov",
            Self::IsoE => "cloud.adc-e.uk",
            Self::IsoF => "csp.hci.ic.gov",
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::Partition;
    use crate::binding::sts_host;

    #[test_case("eu-central-1", "aws", "sts.eu-central-1.amazonaws.com")]
    #[test_case("us-east-1", "aws", "sts.us-east-1.amazonaws.com")]
    #[test_case("cn-northwest-1", "aws-cn", "sts.cn-northwest-1.amazonaws.com.cn")]
    #[test_case("us-gov-east-1", "aws-us-gov", "sts.us-gov-east-1.amazonaws.com")]
    #[test_case("eusc-de-east-1", "aws-eusc", "sts.eusc-de-east-1.amazonaws.eu")]
    #[test_case("us-iso-west-1", "aws-iso", "sts.us-iso-west-1.c2s.ic.gov")]
    #[test_case("us-isob-east-1", "aws-iso-b", "sts.us-isob-east-1.sc2s.sgov.gov")]
    #[test_case("eu-isoe-west-1", "aws-iso-e", "sts.eu-isoe-west-1.cloud.adc-e.uk")]
    #[test_case("us-isof-south-1", "aws-iso-f", "sts.us-isof-south-1.csp.hci.ic.gov")]
    fn a_region_has_its_partition_and_that_its_names(region: &str, partition: &str, host: &str) {
        assert_eq!(Partition::of_region(region).as_str(), partition);
        assert_eq!(sts_host(region), host);
    }
}
