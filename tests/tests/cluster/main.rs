//! The lab's control plane is a real one: what a join and the provisioner rely on is there.

mod configuration;
mod joins;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use dynk8s_lab::cluster::{self, API_ADDRESS, ControlPlane};
use dynk8s_lab::host::containment::{self, SCRATCH};
use dynk8s_lab::host::namespace::Namespace;
use dynk8s_lab::programs::{self, Programs};
use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

fn main() -> anyhow::Result<ExitCode> {
    // Before the containment, because building them needs the network.
    let programs = containment::enter_prepared(|| {
        Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(programs::ensure())
    })?;
    let cluster = Arc::new(Cluster::start(&programs)?);
    joins::admit_group(&cluster)?;
    let trial = |name: &str, check: fn(&Cluster) -> anyhow::Result<()>| {
        let cluster = cluster.clone();
        Trial::test(name, move || {
            check(&cluster).map_err(|error| format!("{error:#}").into())
        })
    };
    let trials = vec![
        trial("bootstrap_token_authenticates", bootstrap_token_authenticates),
        trial("unknown_token_is_refused", unknown_token_is_refused),
        trial("expired_token_is_cleaned", expired_token_is_cleaned),
        trial("join_finds_its_configuration", join_finds_its_configuration),
        trial("cluster_info_is_signed_for_a_token", cluster_info_is_signed_for_a_token),
        trial("service_account_is_only_itself", service_account_is_only_itself),
        trial("admission_policies_are_served", admission_policies_are_served),
        trial("no_token_is_left_by_kubeadm", no_token_is_left_by_kubeadm),
        trial(
            "an_approved_join_makes_a_ready_node",
            joins::an_approved_join_makes_a_ready_node,
        ),
        trial(
            "a_join_without_approval_gives_up",
            joins::a_join_without_approval_gives_up,
        ),
        trial(
            "a_join_with_an_unknown_token_is_refused",
            joins::a_join_with_an_unknown_token_is_refused,
        ),
        trial("a_join_fails_once_as_told", joins::a_join_fails_once_as_told),
        trial("v1beta4_is_accepted", configuration::v1beta4_is_accepted),
        trial(
            "a_misspelt_field_is_refused",
            configuration::a_misspelt_field_is_refused,
        ),
        trial(
            "v1beta3_is_accepted_before_1_37_and_then_no_more",
            configuration::v1beta3_is_accepted_before_1_37_and_then_no_more,
        ),
    ];
    Ok(libtest_mimic::run(&Arguments::from_args(), trials).exit_code())
}

struct Cluster {
    // Dropped before the runtime and the namespace that it lives in.
    control_plane: ControlPlane,
    runtime: Runtime,
    machine: Arc<Namespace>,
    kubeadm: PathBuf,
}

impl Cluster {
    fn start(programs: &Programs) -> anyhow::Result<Self> {
        let machine = Arc::new(cluster::machine()?);
        let spawn = machine.spawner();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let folder = Path::new(SCRATCH).join("cluster");
        let control_plane = runtime.block_on(ControlPlane::start(programs, &folder, spawn))?;
        Ok(Self {
            control_plane,
            runtime,
            machine,
            kubeadm: programs.kubeadm.clone(),
        })
    }

    fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.runtime.block_on(self.control_plane.kubectl(arguments))
    }

    fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(
            &self.kubectl(&[arguments, &["-o", "json"]].concat())?,
        )?)
    }
}

impl Cluster {
    /// What the API server takes the bearer of a token for.
    fn whoami(&self, name: &str, kubeconfig: &str) -> anyhow::Result<Value> {
        let path = Path::new(SCRATCH).join(name);
        std::fs::write(&path, kubeconfig)?;
        let answer = self.json(&["auth", "whoami", &format!("--kubeconfig={}", path.display())])?;
        Ok(answer["status"]["userInfo"].clone())
    }

    fn create_token(&self, id: &str, lifetime: Duration) -> anyhow::Result<()> {
        let expiration = jiff::Timestamp::now() + lifetime;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{id}"), "namespace": "kube-system"},
            "stringData": {
                "token-id": id,
                "token-secret": "0123456789abcdef",
                "usage-bootstrap-authentication": "true",
                "usage-bootstrap-signing": "true",
                "auth-extra-groups": "system:bootstrappers:dynk8s:node",
                "expiration": format!("{expiration:.0}"),
            },
        });
        self.runtime.block_on(self.control_plane.apply(&secret.to_string()))
    }

    fn token_kubeconfig(&self, id: &str) -> anyhow::Result<String> {
        self.control_plane
            .token_kubeconfig(&server(), &format!("{id}.0123456789abcdef"))
    }
}

fn server() -> String {
    format!("https://{API_ADDRESS}:6443")
}

/// Repeats a question until its answer is as wished, for what the cluster does in its own time.
fn eventually(what: &str, mut happened: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(20);
    while !happened()? {
        if Instant::now() > end {
            bail!("{what}: not within 20 s");
        }
        sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn bootstrap_token_authenticates(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_token("aaaaaa", Duration::from_mins(10))?;
    let kubeconfig = cluster.token_kubeconfig("aaaaaa")?;
    // The authenticator learns of a new token by a watch.
    eventually("the token is known", || {
        Ok(cluster.whoami("known", &kubeconfig).is_ok())
    })?;
    let user = cluster.whoami("known", &kubeconfig)?;
    ensure!(user["username"] == "system:bootstrap:aaaaaa", "{user}");
    let groups = user["groups"].as_array().context("no groups")?;
    ensure!(groups.contains(&json!("system:bootstrappers:dynk8s:node")), "{user}");
    Ok(())
}

fn unknown_token_is_refused(cluster: &Cluster) -> anyhow::Result<()> {
    match cluster.whoami("unknown", &cluster.token_kubeconfig("bbbbbb")?) {
        Err(error) if error.to_string().contains("Unauthorized") => Ok(()),
        other => bail!("{other:?}"),
    }
}

fn expired_token_is_cleaned(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_token("cccccc", Duration::from_secs(2))?;
    eventually("the token is gone", || {
        let secret = [
            "get",
            "secret",
            "-n",
            "kube-system",
            "bootstrap-token-cccccc",
            "--ignore-not-found",
        ];
        Ok(cluster.kubectl(&secret)?.is_empty())
    })
}

fn join_finds_its_configuration(cluster: &Cluster) -> anyhow::Result<()> {
    let config = |name: &str| cluster.json(&["get", "configmap", "-n", "kube-system", name]);
    let kubelet = config("kubelet-config")?["data"]["kubelet"].to_string();
    for line in [
        "clientCAFile: /etc/kubernetes/pki/ca.crt",
        "cgroupDriver: systemd",
        "- 10.96.0.10",
    ] {
        ensure!(kubelet.contains(line), "no `{line}` in {kubelet}");
    }
    let kubeadm = config("kubeadm-config")?["data"]["ClusterConfiguration"].to_string();
    ensure!(
        kubeadm.contains("controlPlaneEndpoint: api.onprem.example:6443"),
        "{kubeadm}"
    );
    let proxy = config("kube-proxy")?["data"]["kubeconfig.conf"].to_string();
    ensure!(proxy.contains("server: https://api.onprem.example:6443"), "{proxy}");
    Ok(())
}

fn cluster_info_is_signed_for_a_token(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.create_token("dddddd", Duration::from_mins(10))?;
    let info = || cluster.json(&["get", "configmap", "-n", "kube-public", "cluster-info"]);
    eventually("cluster-info is signed", || {
        Ok(info()?["data"]["jws-kubeconfig-dddddd"].is_string())
    })?;
    let kubeconfig = info()?["data"]["kubeconfig"].to_string();
    ensure!(
        kubeconfig.contains("server: https://api.onprem.example:6443"),
        "{kubeconfig}"
    );
    Ok(())
}

fn service_account_is_only_itself(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.kubectl(&["create", "serviceaccount", "nobody"])?;
    let server = server();
    let making = cluster
        .control_plane
        .service_account_kubeconfig("default", "nobody", &server);
    let kubeconfig = cluster.runtime.block_on(making)?;
    let user = cluster.whoami("nobody", &kubeconfig)?;
    ensure!(user["username"] == "system:serviceaccount:default:nobody", "{user}");
    let path = format!("--kubeconfig={}", Path::new(SCRATCH).join("nobody").display());
    match cluster.kubectl(&["get", "nodes", &path]) {
        Err(error) if error.to_string().contains("forbidden") => Ok(()),
        other => bail!("{other:?}"),
    }
}

fn admission_policies_are_served(cluster: &Cluster) -> anyhow::Result<()> {
    let policies = cluster.json(&["get", "validatingadmissionpolicies.v1.admissionregistration.k8s.io"])?;
    ensure!(policies["items"].is_array(), "{policies}");
    Ok(())
}

fn no_token_is_left_by_kubeadm(cluster: &Cluster) -> anyhow::Result<()> {
    let tokens = cluster.json(&[
        "get",
        "secrets",
        "-n",
        "kube-system",
        "--field-selector=type=bootstrap.kubernetes.io/token",
    ])?;
    let foreign = tokens["items"].as_array().context("no list")?.iter().find(|token| {
        let id = token["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .trim_start_matches("bootstrap-token-");
        !["aaaaaa", "cccccc", "dddddd", "eeeeee", "ffffff"].contains(&id)
    });
    ensure!(foreign.is_none(), "{foreign:?}");
    Ok(())
}
