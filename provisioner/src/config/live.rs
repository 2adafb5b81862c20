//! The configuration while the program runs: read again when the file's content changes.
//!
//! The content is looked at now and then rather than watched for: a `ConfigMap` is mounted as a chain of symbolic links that
//! are swapped, and what is compared cannot be missed. What is not accepted changes nothing, and is said once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{error, info, warn};

use super::{Config, read};

/// How often the file is looked at. The kubelet takes a minute to bring a changed `ConfigMap` anyway.
const EVERY: Duration = Duration::from_secs(10);

/// The configuration that holds now.
#[derive(Clone, Debug)]
pub struct Live(watch::Receiver<State>);

#[derive(Clone, Debug)]
struct State {
    config: Arc<Config>,
    accepted: bool,
}

impl Live {
    /// Reads the file, and the work that keeps reading it: it must be run as long as the configuration is used.
    pub fn follow(path: &Path) -> anyhow::Result<(Self, impl Future<Output = ()> + Send + use<>)> {
        let text = read::text(path)?;
        let config = Arc::new(read::config(path, &text)?);
        let (state, receiver) = watch::channel(State { config, accepted: true });
        let following = Following {
            path: path.to_owned(),
            seen: Ok(text),
            state,
        };
        Ok((Self(receiver), following.run()))
    }

    /// What holds at this moment. Whoever decides several things that must agree asks once.
    pub fn get(&self) -> Arc<Config> {
        Arc::clone(&self.0.borrow().config)
    }

    /// Whether it is what the file says now; if not, the file is not accepted or not there.
    pub fn is_accepted(&self) -> bool {
        self.0.borrow().accepted
    }
}

/// One that stays as it is.
impl From<Config> for Live {
    fn from(config: Config) -> Self {
        let config = Arc::new(config);
        Self(watch::channel(State { config, accepted: true }).1)
    }
}

struct Following {
    path: PathBuf,
    /// The last content, or why there was none.
    seen: Result<String, String>,
    state: watch::Sender<State>,
}

impl Following {
    async fn run(mut self) {
        while !self.state.is_closed() {
            sleep(EVERY).await;
            self.look().await;
        }
    }

    async fn look(&mut self) {
        let path = self.path.clone();
        let read = spawn_blocking(move || read::text(&path).map_err(|it| format!("{it:#}"))).await;
        let Ok(found) = read else { return };
        if found == self.seen {
            return;
        }
        self.seen = found;
        let config = match &self.seen {
            Ok(text) => read::config(&self.path, text).map_err(|it| format!("{it:#}")),
            Err(error) => Err(error.clone()),
        };
        match config {
            Ok(config) => self.take(config),
            Err(error) => {
                error!(
                    error,
                    "the configuration was changed and is not accepted; the one before still holds"
                );
                self.state.send_modify(|it| it.accepted = false);
            }
        }
    }

    fn take(&self, config: Config) {
        let fixed = restart_needed(&self.state.borrow().config, &config);
        if !fixed.is_empty() {
            let keys = fixed.join(", ");
            warn!(
                keys,
                "these keys of the configuration were changed and take effect only after a restart"
            );
        }
        info!(path = %self.path.display(), "configuration read again");
        let config = Arc::new(config);
        self.state.send_replace(State { config, accepted: true });
    }
}

/// The keys that differ and that nobody reads again.
fn restart_needed(before: &Config, after: &Config) -> Vec<&'static str> {
    let changed = [
        ("listen", before.listen != after.listen),
        ("health_listen", before.health_listen != after.health_listen),
    ];
    changed.into_iter().filter_map(|(key, it)| it.then_some(key)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use serde_json::json;
    use tempfile::TempDir;
    use test_case::test_case;

    use super::{EVERY, Live, restart_needed};
    use crate::config::Config;
    use crate::telemetry::tests::listen;

    const SAMPLE: &str = include_str!("../../testdata/provisioner.toml");

    /// As the kubelet mounts a `ConfigMap`: the file leads through `..data` to a folder that is swapped.
    struct Mount {
        folder: TempDir,
        count: usize,
    }

    impl Mount {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            symlink("..data/provisioner.toml", folder.path().join("provisioner.toml")).unwrap();
            let mut mount = Self { folder, count: 0 };
            mount.swap(Some(SAMPLE));
            mount
        }

        fn swap(&mut self, content: Option<&str>) {
            self.count += 1;
            let at = |name: &str| self.folder.path().join(name);
            let version = format!("..version{}", self.count);
            fs::create_dir(at(&version)).unwrap();
            if let Some(content) = content {
                fs::write(at(&version).join("provisioner.toml"), content).unwrap();
            }
            symlink(&version, at("..data_tmp")).unwrap();
            fs::rename(at("..data_tmp"), at("..data")).unwrap();
        }

        fn follow(&self) -> Live {
            let (live, following) = Live::follow(&self.folder.path().join("provisioner.toml")).unwrap();
            tokio::spawn(following);
            live
        }
    }

    /// Paused time waits for what blocks, so the file was looked at when this returns.
    async fn after_a_look() {
        tokio::time::sleep(EVERY * 2).await;
    }

    fn cooldown(live: &Live) -> u64 {
        live.get().times.key_cooldown.as_secs()
    }

    fn changed() -> String {
        SAMPLE.replace("key_cooldown_seconds = 240", "key_cooldown_seconds = 300")
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_change_holds() {
        let mut mount = Mount::new();
        let live = mount.follow();
        assert_eq!(cooldown(&live), 240);
        mount.swap(Some(&changed()));
        after_a_look().await;
        assert_eq!((cooldown(&live), live.is_accepted()), (300, true));
    }

    #[test_case(Some("listen = 1"); "what cannot be understood")]
    #[test_case(Some(""); "nothing at all")]
    #[test_case(None; "no file")]
    #[tokio::test(start_paused = true)]
    async fn a_bad_change_keeps_the_one_before_until_a_good_one_comes(content: Option<&str>) {
        let mut mount = Mount::new();
        let live = mount.follow();
        let (written, _listening) = listen();
        mount.swap(content);
        after_a_look().await;
        assert_eq!((cooldown(&live), live.is_accepted()), (240, false));
        let lines = written.lines();
        let [refused] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        let error = refused["error"].as_str().unwrap();
        assert!(error.contains("provisioner.toml"), "{error}");
        let message = "the configuration was changed and is not accepted; the one before still holds";
        assert_eq!(
            (&refused["level"], &refused["message"]),
            (&json!("ERROR"), &json!(message))
        );
        mount.swap(Some(SAMPLE));
        after_a_look().await;
        assert_eq!((cooldown(&live), live.is_accepted()), (240, true));
        mount.swap(Some(&changed()));
        after_a_look().await;
        assert_eq!((cooldown(&live), live.is_accepted()), (300, true));
        let last = &written.lines()[2];
        assert_eq!(last["message"], "configuration read again");
    }

    #[test]
    fn a_first_reading_that_fails_ends_the_program() {
        let mut mount = Mount::new();
        mount.swap(Some("listen = 1"));
        assert!(Live::follow(&mount.folder.path().join("provisioner.toml")).is_err());
    }

    #[test_case("0.0.0.0:8080", "0.0.0.0:8090", &["listen"]; "where it listens")]
    #[test_case("0.0.0.0:8081", "0.0.0.0:8091", &["health_listen"]; "where it answers the cluster")]
    #[test_case("12:dynk8s", "12:other", &[]; "the topics")]
    #[test_case("name = \"burst\"", "name = \"peak\"", &[]; "a group")]
    fn says_what_takes_effect_only_after_a_restart(right: &str, other: &str, keys: &[&str]) {
        assert!(SAMPLE.contains(right));
        let before: Config = toml::from_str(SAMPLE).unwrap();
        let after: Config = toml::from_str(&SAMPLE.replace(right, other)).unwrap();
        assert_eq!(restart_needed(&before, &after), keys);
    }
}
