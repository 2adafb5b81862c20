//! Label selectors over WireGuard keys: Kubernetes' equality-based ones, `pool=burst,!reserved`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::labels;

/// Requirements that must all hold; none select everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Equal(String, String),
    /// Holds also where the label is absent, as in Kubernetes.
    Unequal(String, String),
    Present(String),
    Absent(String),
}

impl Selector {
    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let value = |key: &str| labels.and_then(|it| it.get(key));
        self.0.iter().all(|it| match it {
            Requirement::Equal(key, wanted) => value(key) == Some(wanted),
            Requirement::Unequal(key, unwanted) => value(key) != Some(unwanted),
            Requirement::Present(key) => value(key).is_some(),
            Requirement::Absent(key) => value(key).is_none(),
        })
    }
}

impl TryFrom<String> for Selector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let requirements: Option<_> = text.split(',').map(|it| requirement(it.trim())).collect();
        requirements.map(Self).ok_or_else(|| {
            format!("`{text}` is no label selector such as `example.com/pool=burst,!reserved` (`=`, `!=`, a name, `!` a name)")
        })
    }
}

fn requirement(text: &str) -> Option<Requirement> {
    let (key, requirement): (_, fn(String, String) -> Requirement) = if let Some(parts) = text.split_once("!=") {
        (parts, Requirement::Unequal)
    } else if let Some(parts) = text.split_once("==").or_else(|| text.split_once('=')) {
        (parts, Requirement::Equal)
    } else if let Some(key) = text.strip_prefix('!') {
        ((key, ""), |key, _| Requirement::Absent(key))
    } else {
        ((text, ""), |key, _| Requirement::Present(key))
    };
    let (key, value) = (key.0.trim(), key.1.trim());
    (labels::is_key(key) && labels::is_value(value)).then(|| requirement(key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::Selector;

    fn labels(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test_case("pool=burst", &[("pool", "burst")], true; "equal")]
    #[test_case("pool == burst", &[("pool", "burst")], true; "equal, written twice and with spaces")]
    #[test_case("pool=burst", &[("pool", "other")], false; "another value")]
    #[test_case("pool=burst", &[], false; "no such label")]
    #[test_case("pool=", &[("pool", "")], true; "an empty value")]
    #[test_case("pool!=burst", &[("pool", "other")], true; "unequal")]
    #[test_case("pool!=burst", &[("pool", "burst")], false; "not unequal")]
    #[test_case("pool!=burst", &[], true; "unequal for want of the label")]
    #[test_case("example.com/pool", &[("example.com/pool", "x")], true; "present")]
    #[test_case("example.com/pool", &[], false; "not present")]
    #[test_case("!reserved", &[], true; "absent")]
    #[test_case("!reserved", &[("reserved", "")], false; "not absent")]
    #[test_case("pool=burst,!reserved", &[("pool", "burst")], true; "both hold")]
    #[test_case("pool=burst,!reserved", &[("pool", "burst"), ("reserved", "")], false; "one does not hold")]
    fn selects(selector: &str, pairs: &[(&str, &str)], selected: bool) {
        let selector = Selector::try_from(selector.to_owned()).unwrap();
        assert_eq!(selector.matches(Some(&labels(pairs))), selected);
    }

    #[test]
    fn none_selects_everything() {
        assert!(Selector::default().matches(None));
    }

    #[test_case(""; "nothing")]
    #[test_case("pool=burst,"; "nothing after a comma")]
    #[test_case("pool in (a,b)"; "a set")]
    #[test_case("pool=a b"; "a space in a value")]
    #[test_case("=burst"; "no name")]
    #[test_case("!"; "no name to be absent")]
    #[test_case("!pool=burst"; "a negated equality")]
    #[test_case("pool=a=b"; "two equal signs")]
    #[test_case("pool>1"; "a comparison")]
    fn refuses(selector: &str) {
        let error = Selector::try_from(selector.to_owned()).unwrap_err();
        assert!(
            error.starts_with(&format!("`{selector}` is no label selector")),
            "{error}"
        );
    }
}
