//! The parameters of a question in the Query API.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub(super) fn read(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The values of a filter: at least one, at most 200, as the references of both services have it.
    pub(super) fn filter(&self, name: &str, kind: &str, values: &str) -> Option<Vec<String>> {
        let found: Vec<String> = (1..)
            .map_while(|it| self.0.get(&format!("{values}{it}")).cloned())
            .collect();
        (self.get(name) == Some(kind) && (1..=200).contains(&found.len())).then_some(found)
    }
}
