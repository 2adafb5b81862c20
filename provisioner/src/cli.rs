//! The command line.

pub mod check;
pub mod keys;
pub mod workers;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::telemetry;

/// The cluster's side of dynk8s: makes EC2 instances workers of an on-premises cluster.
#[derive(Debug, Parser)]
#[command(version, after_help = HINT)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const HINT: &str = "\
The API server is found as kubectl finds it: by KUBECONFIG, or inside a pod by its ServiceAccount.

Exit codes: 0 it is done; 1 it failed or was refused; 2 the command line or the configuration is wrong.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer AWS and agents: what faces the internet
    ///
    /// Listens for messages of SNS and for claims, checks them and writes down what they say. It needs rights in its
    /// own namespace only. TLS is to be ended in front of it, with a publicly trusted certificate.
    Serve(Cluster),
    /// Act on what is written down: keys, tokens, certificates, Nodes
    ///
    /// Gives instances their WireGuard keys and bootstrap tokens, approves their first certificates, and takes it all
    /// back when they are terminated. Nobody needs to reach it.
    Reconcile(Cluster),
    /// Both in one process, which then has the rights of both
    Run(Cluster),
    /// Print the definition of the Worker resource, for `kubectl apply -f -`
    Crd,
    /// Print the public key that agents pin (`provisioner_key` in agent.toml)
    ///
    /// It is made at the first start of `serve`.
    Key(Namespace),
    /// The pool of WireGuard keys: import, generate, list, retire, export
    Keys {
        #[command(subcommand)]
        command: keys::Command,
    },
    /// The instances: list them, release what one had
    Workers {
        #[command(subcommand)]
        command: workers::Command,
    },
    /// Look for what would keep a node from joining, or let a stranger in; changes nothing
    Check(check::Check),
    /// Look at the configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Name what is wrong with the configuration file: all at once, or the first thing that is no TOML or unknown
    Check(File),
}

/// Where the objects are, and how to treat them.
#[derive(Debug, Args)]
pub struct Cluster {
    #[command(flatten)]
    pub file: File,
    #[command(flatten)]
    pub namespace: Namespace,
    /// How the log looks; on a terminal it is for humans, else JSON
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<telemetry::Format>,
}

#[derive(Debug, Args)]
pub struct File {
    /// The configuration file
    #[arg(long, value_name = "FILE", default_value = "/etc/dynk8s/provisioner.toml")]
    pub config: PathBuf,
}

#[derive(Debug, Args)]
pub struct Namespace {
    /// The namespace of Workers, keys and the provisioner's own Secret
    #[arg(long, env = "POD_NAMESPACE", default_value = "dynk8s-system")]
    pub namespace: String,
}

/// Which cluster an operator means, and where in it.
#[derive(Debug, Args)]
pub struct Access {
    #[command(flatten)]
    pub namespace: Namespace,
    /// A context of the kubeconfig, if not the current one
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_of_the_operator_teaches_with_an_example() {
        let mut program = Cli::command();
        program.build();
        let teaches = |verb: &Command| {
            verb.get_after_help()
                .is_some_and(|it| it.to_string().contains("Example"))
        };
        for group in ["keys", "workers"] {
            let group = program.find_subcommand(group).unwrap();
            for verb in group.get_subcommands().filter(|it| it.get_name() != "help") {
                assert!(teaches(verb), "{}", verb.get_name());
            }
        }
        assert!(teaches(program.find_subcommand("check").unwrap()));
    }
}
