//! `dynk8s-provisioner workers ...`

use clap::{Args, Subcommand};
use dynk8s_api::InstanceId;

use super::{Access, Format};

/// What to do with instances.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the instances, what each waits for and what went wrong last
    #[command(after_help = LIST)]
    List(List),
    /// Say that instances are gone for good, so that their keys, tokens and Nodes are taken back
    ///
    /// The word that AWS did not send: make sure that the instance is terminated, for its key goes to another one after the
    /// cool-down. There is no way back.
    #[command(after_help = RELEASE)]
    Release(Release),
}

const LIST: &str = "Example:\n  dynk8s-provisioner workers list";

const RELEASE: &str = "\
Leave the Worker where it is afterwards: it is a tombstone for a day, so that a late `running` cannot raise the dead.

Example:
  dynk8s-provisioner workers release i-0123456789abcdef0";

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub access: Access,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}

#[derive(Debug, Args)]
pub struct Release {
    /// Instance ids
    #[arg(required = true, value_name = "ID")]
    pub names: Vec<InstanceId>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Also if the Node is Ready
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub access: Access,
}
