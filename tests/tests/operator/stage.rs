//! A region with a cluster, and an operator on its LAN.

use std::process::Command;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_lab::cluster::NAMESPACE;
use dynk8s_lab::host::room::Room;
use dynk8s_lab::product::Product;
use dynk8s_lab::programs::Programs;
use dynk8s_lab::region::Region;
use dynk8s_lab::topology::addresses::{ACCOUNT, PROVISIONER_NAME, REGION};
use serde_json::Value;

const PROGRAM: &str = "/usr/bin/dynk8s-provisioner";
/// The public key of a gateway that nobody needs to reach.
pub(crate) const GATEWAY: &str = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

pub(crate) struct Stage {
    pub(crate) region: Region,
    room: Room,
}

/// What a verb said, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) notes: String,
}

impl Stage {
    pub(crate) async fn set(programs: &Programs, product: &Product) -> anyhow::Result<Self> {
        let region = Region::open(programs, product).await?;
        let room = region.topology.premises.room("operator")?;
        room.install(&product.provisioner, PROGRAM)?;
        let kubeconfig = std::fs::read(region.control_plane.admin_kubeconfig())?;
        room.write("/etc/dynk8s/admin.kubeconfig", kubeconfig, 0o600)?;
        room.write("/etc/dynk8s/ca.pem", region.authority.pem(), 0o644)?;
        let stage = Self { region, room };
        stage.write(
            "provisioner.toml",
            &stage.configuration("https://api.onprem.example:6443"),
        )?;
        Ok(stage)
    }

    /// What the operator has written for the provisioner.
    pub(crate) fn configuration(&self, server: &str) -> String {
        let topic = self.region.aws.sns.topic();
        format!(
            "[cluster]\nserver = \"{server}\"\n[sns]\ntopics = [\"{topic}\"]\n[[node_group]]\nname = \"burst\"\n\
             accounts = [\"{ACCOUNT}\"]\nregions = [\"{REGION}\"]\n"
        )
    }

    /// Writes a file where the operator works.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        self.room
            .write(&format!("/home/operator/{name}"), text.to_owned(), 0o600)
    }

    /// Runs a verb.
    pub(crate) fn run(&self, words: &str) -> anyhow::Result<Said> {
        let mut command = Command::new(PROGRAM);
        command
            .env_clear()
            .env("SSL_CERT_FILE", "/etc/dynk8s/ca.pem")
            .env("KUBECONFIG", "/etc/dynk8s/admin.kubeconfig")
            .args(words.split_whitespace());
        let ran = self.room.run(move || command.current_dir("/home/operator").output())?;
        let output = ran.context("failed to start the program")?;
        Ok(Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout)?,
            notes: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs a verb that must end with this exit code.
    pub(crate) fn ends(&self, words: &str, code: i32) -> anyhow::Result<Said> {
        let said = self.run(words)?;
        ensure!(said.code == Some(code), "`{words}` did not end with {code}: {said:?}");
        Ok(said)
    }

    /// What `keys list` says of one key.
    pub(crate) fn key(&self, name: &str) -> anyhow::Result<Option<Value>> {
        let list: Vec<Value> = serde_json::from_str(&self.ends("keys list -o json", 0)?.out)?;
        Ok(list.into_iter().find(|it| it["name"] == name))
    }

    pub(crate) async fn kubectl(&self, words: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        self.region.control_plane.kubectl(&words).await
    }

    /// Removes all keys.
    pub(crate) async fn empty_the_pool(&self) -> anyhow::Result<()> {
        let by_type = "--field-selector=type=dynk8s.du5t1n.me/wireguard-key";
        self.kubectl(&format!("delete secrets --namespace={NAMESPACE} {by_type}"))
            .await?;
        Ok(())
    }
}

/// Where the internet finds the provisioner.
pub(crate) fn url() -> String {
    format!("https://{PROVISIONER_NAME}")
}

/// A document, of which the number makes key and address.
pub(crate) fn document(number: u8) -> String {
    format!(
        "[Interface]\nPrivateKey = {}\nAddress = 10.98.0.{number}/32\nDNS = 192.168.10.1\n\n[Peer]\nPublicKey = {GATEWAY}\n\
         AllowedIPs = 10.98.0.0/24, 192.168.10.0/24\nEndpoint = vpn.onprem.example:51820\n",
        private_key(number)
    )
}

/// Base64 of 32 bytes, the last of which are zeros.
pub(crate) fn private_key(number: u8) -> String {
    let mut key = [0; 32];
    (key[0], key[1], key[31]) = (8, number, 64);
    STANDARD.encode(key)
}
