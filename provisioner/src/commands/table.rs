//! Tables as kubectl prints them.

use std::iter::once;

use jiff::Timestamp;

/// What stands in an empty cell.
const NOTHING: &str = "-";

/// Columns of equal width, two spaces apart, without spaces at the end of a line. Nothing in a cell can drive a terminal.
pub(super) fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = once(head).chain(rows).map(|row| row.map(|it| cell(&it))).collect();
    let width = |column: usize| {
        rows.iter()
            .map(|it| it[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// How long ago, in the largest unit that leaves at least two of it.
pub(super) fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = since else {
        return String::new();
    };
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn cell(text: &str) -> String {
    if text.is_empty() {
        return NOTHING.to_owned();
    }
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use test_case::test_case;

    use super::{age, table};

    #[test]
    fn columns_are_aligned() {
        let rows = [
            ["a".to_owned(), "free".to_owned()],
            ["burst-1".to_owned(), String::new()],
        ];
        let expected = "NAME     STATE\na        free\nburst-1  -\n";
        assert_eq!(table(["NAME", "STATE"], rows.into_iter()), expected);
    }

    #[test]
    fn nothing_drives_the_terminal() {
        let rows = [["\u{1b}[2J\n".to_owned()]];
        assert_eq!(table(["NAME"], rows.into_iter()), "NAME\n [2J\n");
    }

    #[test_case(-5, "0s"; "clocks differ")]
    #[test_case(119, "119s"; "seconds")]
    #[test_case(120, "2m"; "minutes")]
    #[test_case(7199, "119m"; "many minutes")]
    #[test_case(7200, "2h"; "hours")]
    #[test_case(172_800, "2d"; "days")]
    fn an_age_is_short(seconds: i64, expected: &str) {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000_000_000);
        assert_eq!(age(Some(now - SignedDuration::from_secs(seconds)), now), expected);
    }
}
