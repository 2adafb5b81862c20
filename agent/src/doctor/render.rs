//! The checks as a person reads them.

use super::{Check, Verdict};

/// A line for each check, and one for the whole.
pub(crate) fn render(checks: &[Check]) -> String {
    let lines: String = checks.iter().map(line).collect();
    let count = |verdict| checks.iter().filter(|it| it.verdict == verdict).count();
    let (wrong, doubtful) = (count(Verdict::Wrong), count(Verdict::Doubtful));
    let whole = match (wrong, doubtful) {
        (0, 0) => "all is well".to_owned(),
        (0, _) => format!("nothing is wrong; {doubtful} to be looked at"),
        (_, _) => format!("{wrong} wrong"),
    };
    format!("{lines}\n{whole}\n")
}

fn line(check: &Check) -> String {
    let mark = match check.verdict {
        Verdict::Right => "✓",
        Verdict::Doubtful => "?",
        Verdict::Wrong => "✗",
    };
    format!("  {mark} {:<14}{}\n", check.step, check.text)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::{Check, Verdict, render};

    #[test_case(&[Verdict::Right], "\nall is well\n")]
    #[test_case(&[Verdict::Right, Verdict::Doubtful], "\nnothing is wrong; 1 to be looked at\n")]
    #[test_case(&[Verdict::Wrong, Verdict::Doubtful, Verdict::Wrong], "\n2 wrong\n")]
    fn sums_up(verdicts: &[Verdict], expected: &str) {
        let check = |verdict: &Verdict| Check {
            step: "names",
            verdict: *verdict,
            text: "told".to_owned(),
        };
        let checks: Vec<Check> = verdicts.iter().map(check).collect();
        let text = render(&checks);
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(text.matches("names         told").count(), verdicts.len());
    }
}
