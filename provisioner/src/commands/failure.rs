//! Why a command did not do what was asked, and the exit code that says so.

use std::process::ExitCode;

use super::terminal::Console;

#[derive(Debug)]
pub(super) enum Failure {
    /// The command line, the kubeconfig or the configuration is wrong.
    Usage(anyhow::Error),
    /// It failed, or was refused.
    Failed(anyhow::Error),
    /// What was found is bad, and printed already.
    Found,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl Failure {
    /// Says it, where that has not been done.
    pub(super) fn tell(self, console: &mut Console) -> ExitCode {
        match self {
            Self::Usage(error) => {
                console.note(&format!("error: {error:#}"));
                ExitCode::from(2)
            }
            Self::Failed(error) => {
                console.note(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
            Self::Found => ExitCode::FAILURE,
        }
    }
}
