//! Quantities and durations as Kubernetes writes them, as far as a node's settings need them.

use std::time::Duration;

/// Whether this is a quantity that is not negative: `500m`, `1.5Gi`, `1e3`
/// ([syntax](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/)).
pub fn is_quantity(text: &str) -> bool {
    const SUFFIXES: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let end = text
        .find(|it: char| !it.is_ascii_digit() && it != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|it| {
        let digits = it.strip_prefix(['+', '-']).unwrap_or(it);
        matches!(digits.len(), 1..=2) && is_digits(digits)
    });
    text.len() <= 32 && is_number(number) && (SUFFIXES.contains(&suffix) || exponent)
}

/// A share of the whole in percent, at least 0 and less than 100, as the kubelet's thresholds have it.
pub fn is_percentage(text: &str) -> bool {
    let number = text.strip_suffix('%').filter(|it| is_number(it));
    number
        .and_then(|it| it.parse::<f64>().ok())
        .is_some_and(|it| (0.0..100.0).contains(&it))
}

/// A duration in whole hours, minutes and seconds, in this order: `1h`, `1m30s`.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0_u64;
    for (unit, worth) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            let number: u32 = number.parse().ok().filter(|_| is_digits(number))?;
            seconds += u64::from(number) * worth;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then_some(Duration::from_secs(seconds))
}

fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    is_digits(whole) && is_digits(fraction)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{duration, is_percentage, is_quantity};

    #[test_case("4", true; "a whole number")]
    #[test_case("1.5Gi", true; "a fraction of a binary unit")]
    #[test_case("500m", true; "thousandths")]
    #[test_case("1e3", true; "an exponent")]
    #[test_case("2E", true; "exabytes")]
    #[test_case("2E+3", true; "an exponent in upper case")]
    #[test_case("", false; "nothing")]
    #[test_case("-1", false; "negative")]
    #[test_case("Gi", false; "a unit alone")]
    #[test_case("1.", false; "no digit after the point")]
    #[test_case("1.2.3", false; "two points")]
    #[test_case("1 Gi", false; "a space")]
    #[test_case("1Gb", false; "an unknown unit")]
    #[test_case("1e", false; "no exponent")]
    #[test_case("1e999", false; "a monstrous exponent")]
    fn knows_a_quantity(text: &str, valid: bool) {
        assert_eq!(is_quantity(text), valid);
    }

    #[test_case("10%", true; "whole")]
    #[test_case("7.5%", true; "a fraction")]
    #[test_case("0%", true; "none")]
    #[test_case("100%", false; "all")]
    #[test_case("10", false; "no sign")]
    #[test_case("%", false; "no number")]
    #[test_case("-1%", false; "negative")]
    #[test_case("inf%", false; "without end")]
    fn knows_a_percentage(text: &str, valid: bool) {
        assert_eq!(is_percentage(text), valid);
    }

    #[test_case("30s", Some(30); "seconds")]
    #[test_case("1m30s", Some(90); "minutes and seconds")]
    #[test_case("2h", Some(7200); "hours")]
    #[test_case("0s", Some(0); "none")]
    #[test_case("", None; "nothing")]
    #[test_case("30", None; "no unit")]
    #[test_case("s", None; "no number")]
    #[test_case("30s1m", None; "the wrong order")]
    #[test_case("500ms", None; "less than a second")]
    #[test_case("-1s", None; "negative")]
    #[test_case("+1s", None; "a sign")]
    #[test_case("99999999999s", None; "longer than a life")]
    fn knows_a_duration(text: &str, seconds: Option<u64>) {
        assert_eq!(duration(text).map(|it| it.as_secs()), seconds);
    }
}
