//! `dynk8s-provisioner check`

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::{Access, Format};

const EXAMPLE: &str = "\
Each check is `ok`, a `warning` or `failed`, with what was found and what to do about it. Exit code 1 if any failed.

Example:
  dynk8s-provisioner check --url https://dynk8s.example.com";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Check {
    /// The configuration file; by default what the Deployment of `serve` mounts
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The public URL of `serve`, to see whether it answers there and what else does
    #[arg(long)]
    pub url: Option<Url>,
    /// Ask AWS with the credentials of your environment, also where the configuration has no `[aws]`
    #[arg(long)]
    pub aws: bool,
    /// How many instances may run at once, where AWS is not asked about it
    #[arg(long, value_name = "COUNT")]
    pub max: Option<usize>,
    #[command(flatten)]
    pub access: Access,
    /// How to print
    #[arg(short, long, value_enum, default_value = "table")]
    pub output: Format,
}
