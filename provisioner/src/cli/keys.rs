//! `dynk8s-provisioner keys ...`

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use dynk8s_api::PublicKey;
use ipnet::IpNet;

use super::{Access, Format};

/// What to do with the pool.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make Secrets of wg-quick files; all are checked before the first is made
    ///
    /// The Secret is named after the file: `burst-1.conf` becomes `burst-1`. A file that is there already is left alone. The
    /// peers must be known to the WireGuard gateway.
    #[command(after_help = IMPORT)]
    Import(Import),
    /// Draw new keys, and print the peers for the WireGuard gateway
    ///
    /// Private keys go into Secrets and nowhere else. Addresses that a key or a Node has are left out.
    #[command(after_help = GENERATE)]
    Generate(Generate),
    /// List the keys: free, in use, cooling down, quarantined, or of no use and why
    #[command(after_help = LIST)]
    List(List),
    /// Take keys out of the pool for good
    ///
    /// A free one is deleted. One that an instance has is marked, and removed when that instance is gone.
    #[command(after_help = RETIRE)]
    Retire(Retire),
    /// Print the peers of all keys, so that a gateway can be set up again
    ///
    /// Public keys are computed from the private ones. Preshared keys are printed, for the gateway needs them: keep what is
    /// printed secret if there are any.
    #[command(after_help = EXPORT)]
    Export(Access),
}

const IMPORT: &str = "Example:\n  dynk8s-provisioner keys import --label pool=burst burst-*.conf";

const GENERATE: &str = "\
Example: three keys, and their peers onto the gateway's interface wg0
  dynk8s-provisioner keys generate --count 3 --network 10.98.0.0/24 \\
    --endpoint vpn.example.com:51820 --public-key \"$(ssh gateway wg show wg0 public-key)\" \\
    --allowed-ips 10.98.0.0/24,192.168.10.0/24 --dns 192.168.10.1 --search example.com > peers.conf
  ssh gateway wg addconf wg0 /dev/stdin < peers.conf";

const LIST: &str = "Example:\n  dynk8s-provisioner keys list";

const RETIRE: &str = "Example:\n  dynk8s-provisioner keys retire burst-1";

const EXPORT: &str = "Example:\n  (umask 077; dynk8s-provisioner keys export > peers.conf)";

#[derive(Debug, Args)]
pub struct Import {
    /// wg-quick files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A label for each Secret, by which a node group chooses its keys
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Args)]
pub struct Generate {
    /// How many
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
    /// Where the gateway listens
    #[arg(long, value_name = "HOST:PORT")]
    pub endpoint: String,
    /// The gateway's public key
    #[arg(long, value_name = "KEY")]
    pub public_key: PublicKey,
    /// The tunnel's network, which addresses are taken from
    #[arg(long, value_name = "NETWORK")]
    pub network: IpNet,
    /// The first address that may be taken; by default the network's second, for its first is commonly the gateway's
    #[arg(long, value_name = "ADDRESS")]
    pub first: Option<IpAddr>,
    /// On-premises DNS servers; they must know the API server's name
    #[arg(long, required = true, value_delimiter = ',', value_name = "ADDRESS")]
    pub dns: Vec<IpAddr>,
    /// Search domains
    #[arg(long, value_delimiter = ',', value_name = "DOMAIN")]
    pub search: Vec<String>,
    /// The networks behind the gateway
    #[arg(long, required = true, value_delimiter = ',', value_name = "NETWORK")]
    pub allowed_ips: Vec<IpNet>,
    /// The tunnel's MTU; by default the agent chooses
    #[arg(long)]
    pub mtu: Option<u16>,
    /// Draw a preshared key for each, too; it is printed with the peer
    #[arg(long)]
    pub preshared: bool,
    /// What the Secrets' names begin with; the address follows
    #[arg(long, default_value = "wireguard", value_name = "NAME")]
    pub prefix: String,
    /// A label for each Secret, by which a node group chooses its keys
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub access: Access,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Retire {
    /// Names of key Secrets
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Delete also keys that an instance has: its tunnel stays until it ends, but it cannot join again
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub access: Access,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected `key=value`")?;
    if key.starts_with("dynk8s.du5t1n.me/") {
        return Err("labels below `dynk8s.du5t1n.me/` are the provisioner's own".to_owned());
    }
    if !crate::labels::is_key(key) || !crate::labels::is_value(value) {
        return Err("Kubernetes admits no such label".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::label;

    #[test_case("pool=burst", true; "a label")]
    #[test_case("example.com/pool=", true; "an empty value")]
    #[test_case("pool", false; "no value")]
    #[test_case("po ol=burst", false; "a space")]
    #[test_case("pool=a b", false; "a space in the value")]
    #[test_case("dynk8s.du5t1n.me/ec2-instance-id=i-0", false; "our own")]
    fn a_label_is_what_kubernetes_admits(text: &str, right: bool) {
        assert_eq!(label(text).is_ok(), right);
    }
}
