//! A machine powers on and becomes a node, and everything that was given to it comes back.

use std::process::ExitCode;

use dynk8s_lab::host::containment;
use dynk8s_lab::prepare;
use dynk8s_lab::region::Region;
use dynk8s_lab::story::{self, Teller};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

fn main() -> anyhow::Result<ExitCode> {
    let prepared = containment::enter_prepared(|| runtime()?.block_on(prepare::all()))?;
    let join = Trial::test("a_machine_becomes_a_node_and_its_key_comes_back", move || {
        let story = async {
            let region = Region::open(&prepared.programs, &prepared.product).await?;
            let told = story::tell(&region, &prepared.image, &Teller::silent()).await;
            region.with_evidence("join", told).await
        };
        runtime()?.block_on(story).map_err(|error| format!("{error:#}").into())
    });
    Ok(libtest_mimic::run(&Arguments::from_args(), vec![join]).exit_code())
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
