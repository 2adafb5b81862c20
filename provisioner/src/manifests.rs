//! The custom resource definition, generated from the Rust type.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::worker::Worker;

/// The definition of `workers.dynk8s.du5t1n.me`.
pub fn crd() -> CustomResourceDefinition {
    Worker::crd()
}

#[cfg(test)]
mod tests {
    use super::crd;
    use crate::config::Config;

    #[test]
    fn the_shipped_configuration_is_accepted() {
        let config: Config =
            toml::from_str(include_str!("../../packaging/kubernetes/example/provisioner.toml")).unwrap();
        assert_eq!(config.faults(), []);
    }

    #[test]
    fn the_shipped_definition_is_the_generated_one() {
        let shipped = include_str!("../../packaging/kubernetes/base/worker.crd.json");
        let generated = serde_json::to_string_pretty(&crd()).unwrap() + "\n";
        assert_eq!(shipped, generated, "print it again with `dynk8s-provisioner crd`");
    }
}
