//! `/etc/dynk8s/agent.toml`: what this machine must know before it can ask for the rest.

mod read;
mod show;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dynk8s_api::PublicKey;
use url::Url;

use crate::host::files;
use crate::uplink;

pub(crate) use show::redacted;

/// Where the file is, unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/dynk8s/agent.toml";

/// What the file says, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The provisioner's public URL.
    pub provisioner: Url,
    /// The provisioner's public key, which alone is believed.
    pub provisioner_key: PublicKey,
    /// Certificates that are trusted for the provisioner's name beside the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which the provisioner is reached, and nothing else. Its password is a secret.
    pub proxy: Option<Url>,
    /// The container runtime's socket; absent means: look for one.
    pub cri_socket: Option<String>,
    /// Swap stays on, and the kubelet is told not to mind; otherwise it is turned off before the join.
    pub keep_swap: bool,
    /// What becomes of a machine whose journey failed for good.
    pub on_failure: OnFailure,
    /// Whose credentials prove the instance.
    pub credentials: CredentialsOf,
    /// How long each step may take.
    pub deadlines: Deadlines,
    /// Whether pods are evicted when AWS takes a spot instance back.
    pub drain: bool,
}

/// What becomes of a machine whose journey failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It stays, to be looked at; systemd starts the journey again.
    #[default]
    None,
    /// It powers off, so that its group replaces it.
    PowerOff,
}

/// Whose credentials prove the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CredentialsOf {
    /// The instance identity role, which every instance has.
    #[default]
    IdentityRole,
    /// The role of the instance's profile; the node group in the provisioner's configuration must name it.
    InstanceProfile,
}

/// How long each step may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Until the metadata service has answered.
    pub facts: Duration,
    /// Until the provisioner has handed out what is needed.
    pub claim: Duration,
    /// Until the tunnel's other end has answered.
    pub tunnel: Duration,
    /// Until the on-premises resolvers are proven and alone.
    pub names: Duration,
    /// Until `kubeadm join` has succeeded, tried again where that may help.
    pub join: Duration,
    /// Until the Node is Ready.
    pub ready: Duration,
}

impl Deadlines {
    /// From the claim's beginning until the join has succeeded, so that the autoscaler, whose patience is a quarter of an hour,
    /// does not end a machine that is about to become a node.
    pub(crate) fn together(&self) -> Duration {
        self.claim.max(self.join)
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            facts: Duration::from_mins(2),
            claim: Duration::from_mins(10),
            tunnel: Duration::from_secs(30),
            names: Duration::from_secs(30),
            join: Duration::from_mins(10),
            ready: Duration::from_mins(3),
        }
    }
}

/// Everything that is wrong with a configuration file.
#[derive(Debug, PartialEq, Eq)]
pub struct Problems {
    file: PathBuf,
    problems: Vec<Problem>,
}

/// One thing that is wrong, and the line and the key where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    line: Option<usize>,
    key: Option<String>,
    text: String,
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.file.display())?;
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.key {
            Some(key) => write!(f, "`{key}` {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl Problems {
    /// A line for each, with the file's name first, as compilers write it.
    pub fn list(&self) -> String {
        let line = |it: &Problem| format!("{}: {it}\n", self.file.display());
        self.problems.iter().map(line).collect()
    }
}

impl Settings {
    /// Reads the file, or lists all that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, Problems> {
        let alone = |text: String| Problems {
            file: path.to_owned(),
            problems: vec![Problem {
                line: None,
                key: None,
                text,
            }],
        };
        match files::read(path) {
            Ok(Some(text)) => read::settings(&text)
                .and_then(check_ca_file)
                .map_err(|problems| Problems {
                    file: path.to_owned(),
                    problems,
                }),
            Ok(None) => Err(alone("there is no such file; it must name the provisioner".to_owned())),
            Err(error) => Err(alone(format!("{error:#}"))),
        }
    }
}

/// Only a person can mend a file that is missing, so it counts as a fault of the configuration.
fn check_ca_file(settings: Settings) -> Result<Settings, Vec<Problem>> {
    match settings.ca_file.as_deref().map(uplink::certificates) {
        Some(Err(error)) => Err(vec![Problem {
            line: None,
            key: Some("ca_file".to_owned()),
            text: format!("cannot be used: {error:#}"),
        }]),
        Some(Ok(_)) | None => Ok(settings),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynk8s_api::PrivateKey;

    use super::{Deadlines, Settings};

    #[test]
    fn a_node_joins_before_the_autoscalers_patience_ends() {
        let deadlines = Deadlines::default();
        assert_eq!(deadlines.together(), Duration::from_mins(10));
        assert!(deadlines.facts + deadlines.together() < Duration::from_mins(15));
    }

    #[test]
    fn a_ca_file_must_be_there_and_hold_a_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let (file, authority) = (folder.path().join("agent.toml"), folder.path().join("ca.pem"));
        let key = PrivateKey::generate().public();
        let text = format!(
            "provisioner = \"https://dynk8s.example\"\nprovisioner_key = \"{key}\"\nca_file = \"{}\"\n",
            authority.display()
        );
        std::fs::write(&file, text).unwrap();
        let fault = || Settings::load(&file).unwrap_err().to_string();
        assert!(fault().contains("`ca_file` cannot be used") && fault().contains("no such file"));
        std::fs::write(&authority, "not PEM").unwrap();
        assert!(fault().contains("ca.pem"), "{}", fault());
    }
}
