//! Reading the file's text: which keys there are.

mod reader;
#[cfg(test)]
mod tests;
mod values;

use toml::de::DeTable;

use super::{CredentialsOf, Deadlines, OnFailure, Problem, Settings};
use reader::Reader;

const KEYS: &[&str] = &[
    "provisioner",
    "provisioner_key",
    "ca_file",
    "proxy",
    "cri_socket",
    "swap",
    "on_failure",
    "credentials",
    "deadlines",
    "guard",
];

pub(super) fn settings(text: &str) -> Result<Settings, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors.iter().map(|it| not_toml(text, it)).collect());
    }
    let mut reader = Reader::new(text, table.get_ref(), "", KEYS);
    let provisioner = reader.required("provisioner", values::provisioner);
    let provisioner_key = reader.required("provisioner_key", |text| {
        text.parse()
            .map_err(|error| format!("is no key ({error}); `dynk8s-provisioner key` prints it"))
    });
    let ca_file = reader.optional("ca_file", |text| values::absolute(text).map(Into::into));
    let proxy = reader.optional("proxy", values::proxy);
    let cri_socket = reader.optional("cri_socket", values::cri_socket);
    let keep_swap = reader.choice("swap", &[("off", false), ("keep", true)]);
    let on_failure = reader.choice(
        "on_failure",
        &[("none", OnFailure::None), ("poweroff", OnFailure::PowerOff)],
    );
    let credentials = reader.choice(
        "credentials",
        &[
            ("identity-role", CredentialsOf::IdentityRole),
            ("instance-profile", CredentialsOf::InstanceProfile),
        ],
    );
    let deadlines = deadlines(&mut reader);
    let [drain] = reader.flags("guard", "guard.", [("drain", false)]);
    match (provisioner, provisioner_key, reader.problems) {
        (Some(provisioner), Some(provisioner_key), problems) if problems.is_empty() => Ok(Settings {
            provisioner,
            provisioner_key,
            ca_file,
            proxy,
            cri_socket,
            keep_swap: keep_swap.unwrap_or_default(),
            on_failure: on_failure.unwrap_or_default(),
            credentials: credentials.unwrap_or_default(),
            deadlines,
            drain,
        }),
        (_, _, problems) => Err(problems),
    }
}

fn deadlines(reader: &mut Reader<'_>) -> Deadlines {
    let default = Deadlines::default();
    let defaults = [
        ("facts", default.facts),
        ("claim", default.claim),
        ("tunnel", default.tunnel),
        ("names", default.names),
        ("join", default.join),
        ("ready", default.ready),
    ];
    let [facts, claim, tunnel, names, join, ready] =
        reader.durations("deadlines", "deadlines.", defaults, values::deadline);
    Deadlines {
        facts,
        claim,
        tunnel,
        names,
        join,
        ready,
    }
}

fn not_toml(text: &str, error: &toml::de::Error) -> Problem {
    Problem {
        line: error.span().map(|it| reader::line(text, it.start)),
        key: None,
        text: format!("is not TOML: {}", error.message().replace('\n', " ")),
    }
}
