//! A table of the file: every key by its name and line, and all faults at once.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::Problem;

/// A key that differs in at most so many places is taken for a misspelling.
const NEAR: usize = 3;

/// Collects what is wrong, wherever it is.
pub(super) struct Reader<'a> {
    text: &'a str,
    table: &'a DeTable<'a>,
    prefix: &'static str,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// Reads a table that may have these keys and no others.
    pub(super) fn new(text: &'a str, table: &'a DeTable<'a>, prefix: &'static str, known: &[&str]) -> Self {
        let mut reader = Self {
            text,
            table,
            prefix,
            problems: Vec::new(),
        };
        reader.refuse_unknown(known);
        reader
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let nearest = known.iter().min_by_key(|it| strsim::levenshtein(it, name));
            let suggestion = nearest.filter(|it| strsim::levenshtein(it, name) <= NEAR).map_or_else(
                || format!("known are {}", known.join(", ")),
                |it| format!("did you mean `{it}`?"),
            );
            self.problems.push(Problem {
                line: Some(line(self.text, key.span().start)),
                key: Some(format!("{}{}", self.prefix, name.escape_default())),
                text: format!("is unknown; {suggestion}"),
            });
        }
    }

    fn value(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        let found = self.table.iter().find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| value)
    }

    /// A string that must be there.
    pub(super) fn required<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        if self.value(key).is_none() {
            self.problems.push(Problem {
                line: None,
                key: Some(format!("{}{key}", self.prefix)),
                text: "is missing".to_owned(),
            });
        }
        self.optional(key, parse)
    }

    /// A string that may be there.
    pub(super) fn optional<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let value = self.value(key)?;
        let parsed = match value.get_ref() {
            DeValue::String(text) => parse(text),
            other => Err(format!("must be a string, not {} {}", article(other), other.type_str())),
        };
        parsed.map_err(|text| self.complain(key, value, text)).ok()
    }

    /// A string, one of a few.
    pub(super) fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        self.optional(key, |text| {
            let found = choices.iter().find(|(name, _)| *name == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let names: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                format!("must be {}", names.join(" or "))
            })
        })
    }

    /// Lengths of time in a table of their own, each with what holds where it is absent.
    pub(super) fn durations<const N: usize>(
        &mut self,
        key: &str,
        prefix: &'static str,
        defaults: [(&str, Duration); N],
        parse: impl Fn(&str) -> Result<Duration, String>,
    ) -> [Duration; N] {
        let names = defaults.map(|(name, _)| name);
        let Some(mut inner) = self.table(key, prefix, &names) else {
            return defaults.map(|(_, length)| length);
        };
        let lengths = defaults.map(|(name, length)| inner.optional(name, &parse).unwrap_or(length));
        self.problems.append(&mut inner.problems);
        lengths
    }

    /// Truth values in a table of their own, each with what holds where it is absent.
    pub(super) fn flags<const N: usize>(
        &mut self,
        key: &str,
        prefix: &'static str,
        defaults: [(&str, bool); N],
    ) -> [bool; N] {
        let names = defaults.map(|(name, _)| name);
        let Some(mut inner) = self.table(key, prefix, &names) else {
            return defaults.map(|(_, flag)| flag);
        };
        let flags = defaults.map(|(name, flag)| inner.flag(name).unwrap_or(flag));
        self.problems.append(&mut inner.problems);
        flags
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.value(key)?;
        if let DeValue::Boolean(flag) = value.get_ref() {
            return Some(*flag);
        }
        self.complain(key, value, "must be true or false".to_owned());
        None
    }

    fn table(&mut self, key: &str, prefix: &'static str, known: &[&str]) -> Option<Self> {
        let value = self.value(key)?;
        if let DeValue::Table(table) = value.get_ref() {
            return Some(Self::new(self.text, table, prefix, known));
        }
        self.complain(key, value, "must be a table".to_owned());
        None
    }

    fn complain(&mut self, key: &str, value: &Spanned<DeValue<'_>>, text: String) {
        self.problems.push(Problem {
            line: Some(line(self.text, value.span().start)),
            key: Some(format!("{}{key}", self.prefix)),
            text,
        });
    }
}

/// The number of the line on which a byte stands.
pub(super) fn line(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    1 + before.filter(|it| *it == b'\n').count()
}

fn article(value: &DeValue<'_>) -> &'static str {
    if matches!(value, DeValue::Integer(_) | DeValue::Array(_)) {
        "an"
    } else {
        "a"
    }
}
