//! What goes wrong in the world, and what becomes of it: recovery, or one line that says what, why and what to do.
//!
//! Real agents and a real provisioner with real rights; the lab stands in for AWS, and for kubeadm and the kubelet.

mod claim;
mod crashes;
mod guard;
mod ingress;
mod join;
mod metadata;
mod sns;
mod stage;
mod tunnel;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use dynk8s_lab::host::containment;
use dynk8s_lab::prepare;
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

type Lab = Arc<Mutex<(Stage, Runtime)>>;

fn main() -> anyhow::Result<ExitCode> {
    let prepared = containment::enter_prepared(|| runtime()?.block_on(prepare::all()))?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::set(&prepared))?;
    let lab: Lab = Arc::new(Mutex::new((stage, runtime)));
    let mut arguments = Arguments::from_args();
    // There is one region with one ingress: faults take turns.
    arguments.test_threads = Some(1);
    let trials = vec![
        trial(&lab, "nothing_is_wrong", join::nothing_is_wrong),
        trial(&lab, "kubeadm_fails_once", join::kubeadm_fails_once),
        trial(&lab, "metadata_is_absent", metadata::is_absent),
        trial(&lab, "metadata_is_15_s_late", metadata::is_late),
        trial(&lab, "provisioner_is_unreachable_for_20_s", ingress::is_unreachable),
        trial(&lab, "provisioner_says_503_with_retry_after", ingress::is_unavailable),
        trial(&lab, "provisioner_shows_a_foreign_certificate", ingress::is_foreign),
        trial(&lab, "ingress_swaps_the_claim_key", ingress::swaps_the_key),
        trial(&lab, "ingress_swaps_the_answer", ingress::swaps_the_answer),
        trial(&lab, "sns_message_is_forged", sns::message_is_forged),
        trial(&lab, "sns_topic_is_not_listed", sns::topic_is_not_listed),
        trial(&lab, "sts_proof_is_altered", claim::proof_is_altered),
        trial(&lab, "second_claim_comes_with_another_key", claim::key_is_another),
        trial(&lab, "pool_is_empty_until_a_key_is_added", claim::pool_is_empty),
        trial(&lab, "agent_is_killed_again_and_again", crashes::of_the_agent),
        trial(
            &lab,
            "provisioner_is_killed_while_an_agent_waits",
            crashes::of_the_provisioner,
        ),
        trial(&lab, "way_to_the_gateway_is_blocked", tunnel::way_is_blocked),
        trial(
            &lab,
            "key_is_unknown_to_the_gateway",
            tunnel::key_is_unknown_to_the_gateway,
        ),
        trial(&lab, "long_packets_get_lost", tunnel::long_packets_get_lost),
        trial(
            &lab,
            "agent_starts_again_in_a_living_session",
            tunnel::agent_starts_again_in_a_living_session,
        ),
        trial(&lab, "gateway_moves", guard::gateway_moves),
        trial(&lab, "names_are_rewritten", guard::names_are_rewritten),
        trial(&lab, "spot_instance_is_taken_back", guard::spot_instance_is_taken_back),
        trial(&lab, "nothing_happens", guard::nothing_happens),
    ];
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn trial(lab: &Lab, name: &str, fault: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static) -> Trial {
    let (lab, title) = (lab.clone(), format!("faults-{name}"));
    Trial::test(name, move || {
        let mut lab = lab.lock().unwrap_or_else(PoisonError::into_inner);
        let (stage, runtime) = &mut *lab;
        let outcome = runtime.block_on(async {
            stage.region.mend().await?;
            let outcome = fault(stage).await;
            stage.region.with_evidence(&title, outcome).await
        });
        outcome.map_err(|error| format!("{error:#}").into())
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
