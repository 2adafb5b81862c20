//! Which packets to try, and what it means that some come back.

/// A packet that passes everywhere.
pub(in crate::tunnel) const SMALL: u16 = 96;

/// The least that a link with IPv6 may carry (RFC 8200), and the least that one with IPv4 is worth.
const LEAST_V6: u16 = 1280;
const LEAST: u16 = 576;

/// Sizes to try below the full one: what usual links leave inside of WireGuard, then coarser steps.
const STEPS: &[u16] = &[
    1412, 1400, 1392, 1380, 1372, 1360, 1352, 1340, 1332, 1320, 1300, 1280, 1240, 1200, 1100, 1000, 800, 576,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The full size passes.
    Passes,
    /// Only this does.
    Smaller(u16),
    /// It cannot be known.
    Unknown,
}

/// The sizes below `full` that are worth a try.
pub(super) fn ladder(full: u16, v6: bool) -> Vec<u16> {
    let least = if v6 { LEAST_V6 } else { LEAST };
    STEPS.iter().copied().filter(|it| (least..full).contains(it)).collect()
}

/// Judges by the sizes that came back.
pub(super) fn verdict(heard: &[u16], full: u16) -> Verdict {
    match heard.iter().copied().filter(|it| *it != SMALL).max() {
        Some(largest) if largest >= full => Verdict::Passes,
        Some(largest) => Verdict::Smaller(largest),
        None => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{SMALL, Verdict, ladder, verdict};

    #[test_case(&[SMALL, 1420] => Verdict::Passes; "everything comes back")]
    #[test_case(&[1420] => Verdict::Passes; "the small one got lost")]
    #[test_case(&[SMALL, 1280, 1380, 1340] => Verdict::Smaller(1380); "up to a size")]
    #[test_case(&[] => Verdict::Unknown; "nothing")]
    #[test_case(&[SMALL] => Verdict::Unknown; "the small one alone, which no MTU mends")]
    fn judges(heard: &[u16]) -> Verdict {
        verdict(heard, 1420)
    }

    #[test_case(1420, false, 1412, 576; "version 4")]
    #[test_case(1420, true, 1412, 1280; "version 6")]
    #[test_case(1380, false, 1372, 576; "a smaller link")]
    fn tries_what_is_smaller(full: u16, v6: bool, first: u16, last: u16) {
        let sizes = ladder(full, v6);
        assert_eq!((sizes.first(), sizes.last()), (Some(&first), Some(&last)));
    }

    #[test]
    fn tries_nothing_below_the_least() {
        assert!(ladder(576, false).is_empty() && ladder(1280, true).is_empty());
    }
}
