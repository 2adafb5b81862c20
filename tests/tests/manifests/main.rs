//! The manifests that we ship, on a real API server: what each account may do, and what nobody may.

mod certificates;
mod deleted;
mod elsewhere;
mod example;
mod instance;
mod keys;
mod metrics;
mod mistakes;
mod nodes;
mod reconcile;
mod replicas;
mod rights;
mod secrets;
mod stage;
mod watching;
mod workers;

use std::process::ExitCode;
use std::sync::Arc;

use dynk8s_lab::host::containment;
use dynk8s_lab::programs::monitoring;
use dynk8s_lab::{product, programs};
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Builder;

use self::stage::Stage;

fn set() -> anyhow::Result<Stage> {
    // Before the containment, because building them needs the network.
    let (programs, provisioner, definitions) = containment::enter_prepared(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let programs = programs::ensure().await?;
            anyhow::Ok((
                programs,
                product::build_provisioner().await?,
                monitoring::definitions().await?,
            ))
        })
    })?;
    Stage::set(&programs, provisioner, definitions)
}

fn main() -> anyhow::Result<ExitCode> {
    let stage = Arc::new(set()?);
    let trial = |name: &str, check: fn(&Stage) -> anyhow::Result<()>| {
        let stage = stage.clone();
        Trial::test(name, move || check(&stage).map_err(|error| format!("{error:#}").into()))
    };
    let trials = vec![
        trial("the_policies_are_sound", stage::the_policies_are_sound),
        trial("policies_hold_anywhere", elsewhere::policies_hold_anywhere),
        trial("missing_policies_are_told", elsewhere::missing_policies_are_told),
        trial("the_example_is_complete", example::the_example_is_complete),
        trial("the_example_is_accepted", example::the_example_is_accepted),
        trial(
            "each_account_has_exactly_its_rights",
            rights::each_account_has_exactly_its_rights,
        ),
        trial("each_right_holds_and_no_other", rights::each_right_holds_and_no_other),
        trial(
            "serve_records_and_reads_by_name",
            workers::serve_records_and_reads_by_name,
        ),
        trial("serve_has_no_power", workers::serve_has_no_power),
        trial(
            "a_worker_is_what_its_definition_says",
            workers::a_worker_is_what_its_definition_says,
        ),
        trial(
            "reconcile_makes_tokens_of_our_group",
            secrets::reconcile_makes_tokens_of_our_group,
        ),
        trial(
            "reconcile_makes_no_other_secret",
            secrets::reconcile_makes_no_other_secret,
        ),
        trial(
            "reconcile_deletes_no_other_secret",
            secrets::reconcile_deletes_no_other_secret,
        ),
        trial(
            "reconcile_reads_no_secret_of_the_cluster",
            secrets::reconcile_reads_no_secret_of_the_cluster,
        ),
        trial(
            "reconcile_settles_nodes_of_instances",
            nodes::reconcile_settles_nodes_of_instances,
        ),
        trial(
            "reconcile_touches_no_other_node",
            nodes::reconcile_touches_no_other_node,
        ),
        trial(
            "an_instance_registers_with_the_startup_taint",
            nodes::an_instance_registers_with_the_startup_taint,
        ),
        trial(
            "a_token_may_ask_and_is_not_answered_automatically",
            certificates::a_token_may_ask,
        ),
        trial(
            "reconcile_approves_requests_of_our_group_only",
            certificates::reconcile_approves_our_group_only,
        ),
        trial(
            "reconcile_approves_what_instances_show_only",
            certificates::reconcile_approves_what_instances_show_only,
        ),
        trial(
            "reconcile_labels_keys_and_changes_none",
            keys::reconcile_labels_keys_and_changes_none,
        ),
        trial(
            "reconcile_keeps_tokens_and_nothing_else",
            keys::reconcile_keeps_tokens_and_nothing_else,
        ),
        trial(
            "an_instance_cannot_open_its_own_node",
            nodes::an_instance_cannot_open_its_own_node,
        ),
        trial(
            "reconcile_stays_in_its_own_namespace",
            workers::reconcile_stays_in_its_own_namespace,
        ),
        trial(
            "reconcile_needs_no_more_than_its_rights",
            reconcile::its_rights_are_enough,
        ),
        trial("mistakes_are_explained", mistakes::mistakes_are_explained),
        // The last one: it deletes the namespace.
        trial("deleted_things_do_no_harm", deleted::deleted_things_do_no_harm),
    ];
    let mut arguments = Arguments::from_args();
    // There is one cluster, and for a moment it is careless.
    arguments.test_threads = Some(1);
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}
