//! What goes wrong in the world, and what becomes of it: recovery, or one line that says what, why and what to do.
//!
//! Real agents and a real provisioner with real rights; the lab stands in for AWS, and for kubeadm and the kubelet.

mod around;
mod claim;
mod crashes;
mod foretold;
mod guard;
mod ingress;
mod join;
mod metadata;
mod resync;
mod sns;
mod stage;
mod tunnel;

use std::process::ExitCode;

use dynk8s_lab::host::containment;
use dynk8s_lab::prepare;
use dynk8s_lab::turns::{self, Turns};
use libtest_mimic::Trial;
use tokio::runtime::{Builder, Runtime};

use crate::stage::Stage;

fn main() -> anyhow::Result<ExitCode> {
    let prepared = containment::enter_prepared(|| runtime()?.block_on(prepare::all()))?;
    let runtime = runtime()?;
    let stage = runtime.block_on(Stage::set(&prepared))?;
    // There is one region with one ingress: faults take turns.
    let lab = Turns::on(stage, runtime);
    let trials = vec![
        trial(&lab, "nothing_is_wrong", join::nothing_is_wrong),
        trial(&lab, "kubeadm_fails_once", join::kubeadm_fails_once),
        trial(
            &lab,
            "kubelet_is_newer_than_the_cluster",
            join::kubelet_is_newer_than_the_cluster,
        ),
        trial(&lab, "metadata_is_absent", metadata::is_absent),
        trial(&lab, "metadata_is_a_minute_late", metadata::is_late),
        trial(
            &lab,
            "metadata_is_there_over_ipv6_alone",
            metadata::is_there_over_ipv6_alone,
        ),
        trial(&lab, "metadata_is_throttled", metadata::is_throttled),
        trial(
            &lab,
            "metadata_lacks_what_is_optional",
            metadata::lacks_what_is_optional,
        ),
        trial(&lab, "metadata_answers_get_lost", metadata::answers_get_lost),
        trial(
            &lab,
            "metadata_contradicts_the_document",
            metadata::contradicts_the_document,
        ),
        trial(&lab, "provisioner_is_unreachable_for_20_s", ingress::is_unreachable),
        trial(&lab, "provisioner_says_503_with_retry_after", ingress::is_unavailable),
        trial(&lab, "provisioner_shows_a_foreign_certificate", ingress::is_foreign),
        trial(&lab, "ingress_swaps_the_claim_key", ingress::swaps_the_key),
        trial(&lab, "ingress_swaps_the_answer", ingress::swaps_the_answer),
        trial(&lab, "sns_message_is_forged", sns::message_is_forged),
        trial(&lab, "sns_topic_is_not_listed", sns::topic_is_not_listed),
        trial(&lab, "sns_messages_are_lost", resync::messages_are_lost),
        trial(
            &lab,
            "join_fails_for_good_and_says_so_without_secrets",
            join::fails_for_good_and_says_so_without_secrets,
        ),
        trial(&lab, "identity_document_is_missing", claim::document_is_missing),
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
        trial(&lab, "default_route_leads_into_it", tunnel::default_route_leads_into_it),
        trial(
            &lab,
            "default_route_of_ipv6_leads_into_it",
            tunnel::default_route_of_ipv6_leads_into_it,
        ),
        trial(&lab, "gateway_moves", guard::gateway_moves),
        trial(&lab, "names_are_rewritten", guard::names_are_rewritten),
        trial(&lab, "spot_instance_is_taken_back", guard::spot_instance_is_taken_back),
        trial(
            &lab,
            "spot_instance_is_taken_back_and_not_drained",
            guard::spot_instance_is_taken_back_and_not_drained,
        ),
        trial(&lab, "pods_would_suffer", around::pods_would_suffer),
        trial(&lab, "nothing_happens", guard::nothing_happens),
    ];
    Ok(turns::run(trials))
}

fn trial(
    lab: &Turns<Stage>,
    name: &str,
    fault: impl AsyncFnOnce(&mut Stage) -> anyhow::Result<()> + Send + 'static,
) -> Trial {
    let title = format!("faults-{name}");
    lab.trial(name, async move |stage: &mut Stage| {
        stage.region.mend().await?;
        let outcome = fault(stage).await;
        stage.region.with_evidence(&title, outcome).await
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
