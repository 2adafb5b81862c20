//! The configuration that holds, as a file would say it. A proxy's password is the one secret that may stand there.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::SignedDuration;

use super::{OnFailure, Settings};

impl Settings {
    /// What holds, as TOML.
    pub fn show(&self) -> String {
        let mut lines = vec![
            pair("provisioner", self.provisioner.as_str().trim_end_matches('/')),
            pair("provisioner_key", &self.provisioner_key.to_string()),
        ];
        lines.extend(
            self.ca_file
                .as_ref()
                .map(|it| pair("ca_file", &it.display().to_string())),
        );
        lines.extend(self.proxy.as_ref().map(|it| pair("proxy", &redacted(it))));
        lines.extend(self.cri_socket.as_ref().map(|it| pair("cri_socket", it)));
        lines.push(pair("swap", if self.keep_swap { "keep" } else { "off" }));
        lines.push(pair("on_failure", on_failure(self.on_failure)));
        lines.push("\n[deadlines]".to_owned());
        let deadlines = self.deadlines;
        let named = [
            ("facts", deadlines.facts),
            ("claim", deadlines.claim),
            ("tunnel", deadlines.tunnel),
            ("names", deadlines.names),
            ("join", deadlines.join),
            ("ready", deadlines.ready),
        ];
        lines.extend(named.map(|(name, length)| pair(name, &time(length))));
        lines.push(format!("\n[guard]\ndrain = {}", self.drain));
        lines.iter().fold(String::new(), |mut text, line| {
            let _infallible = writeln!(text, "{line}");
            text
        })
    }
}

fn pair(key: &str, value: &str) -> String {
    format!("{key} = {}", toml::Value::from(value))
}

fn on_failure(it: OnFailure) -> &'static str {
    match it {
        OnFailure::None => "none",
        OnFailure::PowerOff => "poweroff",
    }
}

fn time(length: Duration) -> String {
    SignedDuration::try_from(length).map_or_else(|_| format!("{}s", length.as_secs()), |it| format!("{it:#}"))
}

/// A proxy's URL without its password.
pub(crate) fn redacted(proxy: &url::Url) -> String {
    let mut proxy = proxy.clone();
    if proxy.password().is_some() {
        let _always_has_a_host = proxy.set_password(Some("redacted"));
    }
    proxy.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::read;

    const TEXT: &str = "
        provisioner = \"https://dynk8s.example.com\"
        provisioner_key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"
        proxy = \"http://user:hunter2@proxy.example:3128\"
        swap = \"keep\"
        [deadlines]
        join = \"90s\"
    ";

    #[test]
    fn shows_what_holds_without_the_password() {
        let shown = read::settings(TEXT).unwrap().show();
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(
            shown.contains("swap = \"keep\"") && shown.contains("join = \"1m 30s\""),
            "{shown}"
        );
        assert!(shown.contains("claim = \"10m\""), "defaults too: {shown}");
    }

    #[test]
    fn is_read_again_as_it_was() {
        let settings = read::settings(&TEXT.replace(":hunter2", "")).unwrap();
        assert_eq!(read::settings(&settings.show()).unwrap().show(), settings.show());
    }
}
