//! The rest of what may happen between power on and node: too long for each run of the tests, so `make test-machine` runs it.

mod both_at_once;
mod network_manager;
mod power_off;
mod provisioner_down;
mod reboot;
mod stage;
mod wrong_clock;
mod zram;

use std::process::ExitCode;

use crate::stage::case;

fn main() -> anyhow::Result<ExitCode> {
    let lab = stage::set()?;
    Ok(dynk8s_lab::turns::run(vec![
        case(&lab, "both_at_once", both_at_once::case),
        case(&lab, "provisioner_down", provisioner_down::case),
        case(&lab, "reboot", reboot::case),
        case(&lab, "network_manager", network_manager::case),
        case(&lab, "wrong_clock", wrong_clock::case),
        case(&lab, "zram", zram::case),
        case(&lab, "power_off", power_off::case),
    ]))
}
