//! Whether an object of the cluster says what ours does. The API server fills in defaults; whatever else is more or less than
//! ours is a difference.

use serde_json::Value;

/// Where they differ, by path.
pub(super) fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", ours, theirs, &mut found);
    found
}

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in ours {
                compare(
                    &format!("{path}.{name}"),
                    value,
                    theirs.get(name).unwrap_or(&Value::Null),
                    found,
                );
            }
            let more = theirs
                .iter()
                .filter(|(name, value)| !ours.contains_key(*name) && !is_default(name, value));
            found.extend(more.map(|(name, _)| format!("{path}.{name}")));
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                compare(&format!("{path}[{at}]"), ours, theirs, found);
            }
        }
        (ours, theirs) if same(ours, theirs) => {}
        _ => found.push(path.to_owned()),
    }
}

fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        // A folded text keeps or loses the newline at its end.
        (Value::String(ours), Value::String(theirs)) => ours.trim() == theirs.trim(),
        // 1 and 1.0.
        (Value::Number(ours), Value::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        _ => ours == theirs || (is_empty(ours) && is_empty(theirs)),
    }
}

/// What the API server adds where nothing is said.
fn is_default(name: &str, value: &Value) -> bool {
    is_empty(value)
        || matches!(
            (name, value.as_str()),
            ("matchPolicy", Some("Equivalent")) | ("scope", Some("*")) | ("listKind", Some("WorkerList"))
        )
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::differences;

    #[test_case(&json!({ "a": 1 }), &json!({ "a": 1 }), &[]; "the same")]
    #[test_case(&json!({ "a": { "b": 1 } }), &json!({ "a": { "b": 2 } }), &[".a.b"]; "another value")]
    #[test_case(&json!({ "a": 1 }), &json!({}), &[".a"]; "less")]
    #[test_case(&json!({}), &json!({ "objectSelector": { "a": 1 } }), &[".objectSelector"]; "more")]
    #[test_case(&json!({}), &json!({ "objectSelector": {}, "matchPolicy": "Equivalent", "scope": "*" }), &[]; "defaults")]
    #[test_case(&json!({}), &json!({ "matchPolicy": "Exact" }), &[".matchPolicy"]; "not the default")]
    #[test_case(&json!({ "a": [1] }), &json!({ "a": [1, 2] }), &[".a"]; "a longer list")]
    #[test_case(&json!({ "a": [{ "b": 1 }] }), &json!({ "a": [{ "b": 2 }] }), &[".a[0].b"]; "inside a list")]
    #[test_case(&json!({ "a": "x" }), &json!({ "a": "x\n" }), &[]; "a newline at the end")]
    #[test_case(&json!({ "a": [] }), &json!({}), &[]; "nothing is an empty list")]
    #[test_case(&json!({ "a": 0 }), &json!({ "a": 0.0 }), &[]; "numbers")]
    fn finds_what_differs(ours: &Value, theirs: &Value, expected: &[&str]) {
        assert_eq!(differences(ours, theirs), expected);
    }
}
