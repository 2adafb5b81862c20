//! What a user has: an image in which the package is installed and nothing was copied by hand, cloud-init with the data source of
//! EC2, and the unit. Each machine must become a node; `boot_more` has the cases that `make test-machine` runs beside these.
//!
//! A case is a folder: configuration, fault, and what must be true after.

mod metadata_late;
mod runcmd;
mod stage;
mod unit;

use std::process::ExitCode;

use crate::stage::case;

fn main() -> anyhow::Result<ExitCode> {
    let lab = stage::set()?;
    Ok(dynk8s_lab::turns::run(vec![
        case(&lab, "unit", unit::case),
        case(&lab, "runcmd", runcmd::case),
        case(&lab, "metadata_late", metadata_late::case),
    ]))
}
