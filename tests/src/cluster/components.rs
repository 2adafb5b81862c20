//! The command lines of the control plane's processes.

use std::path::Path;
use std::process::Command;

use super::{API_ADDRESS, API_PORT};
use crate::programs::Programs;

pub(super) const SERVICES: &str = "10.96.0.0/16";
pub(super) const PODS: &str = "10.244.0.0/16";
/// Loopback of the control plane's own network namespace: nobody else can reach it, so it goes without TLS.
pub(super) const ETCD: &str = "http://127.0.0.1:2379";
const ETCD_PEER: &str = "http://127.0.0.1:2380";

pub(super) fn etcd(programs: &Programs, data: &Path) -> Command {
    let mut command = Command::new(&programs.etcd);
    command
        .arg(path_flag("data-dir", data))
        .arg(format!("--listen-client-urls={ETCD}"))
        .arg(format!("--advertise-client-urls={ETCD}"))
        .arg(format!("--listen-peer-urls={ETCD_PEER}"))
        .arg(format!("--initial-advertise-peer-urls={ETCD_PEER}"))
        .arg(format!("--initial-cluster=default={ETCD_PEER}"))
        // The data lives no longer than the process: nothing is gained by waiting for the disk.
        .args(["--unsafe-no-fsync", "--log-level=warn"]);
    command
}

pub(super) fn api_server(programs: &Programs, root: &Path) -> Command {
    let pki = |file: &str| root.join("etc/kubernetes/pki").join(file);
    let mut command = Command::new(&programs.kube_apiserver);
    command
        .arg(format!("--etcd-servers={ETCD}"))
        .arg(format!("--advertise-address={API_ADDRESS}"))
        .arg(format!("--secure-port={API_PORT}"))
        .arg(format!("--service-cluster-ip-range={SERVICES}"))
        // kube-proxy runs privileged.
        .arg("--allow-privileged=true")
        .arg("--authorization-mode=Node,RBAC")
        .arg("--enable-admission-plugins=NodeRestriction")
        .arg("--enable-bootstrap-token-auth=true")
        .arg("--service-account-issuer=https://kubernetes.default.svc.cluster.local")
        .arg(path_flag("service-account-signing-key-file", &pki("sa.key")))
        .arg(path_flag("service-account-key-file", &pki("sa.pub")))
        .arg(path_flag("client-ca-file", &pki("ca.crt")))
        .arg(path_flag("tls-cert-file", &pki("apiserver.crt")))
        .arg(path_flag("tls-private-key-file", &pki("apiserver.key")))
        .arg(path_flag(
            "kubelet-client-certificate",
            &pki("apiserver-kubelet-client.crt"),
        ))
        .arg(path_flag("kubelet-client-key", &pki("apiserver-kubelet-client.key")))
        // Not kubeadm's: it believes whatever a kubelet shows.
        .arg(path_flag("kubelet-certificate-authority", &pki("ca.crt")))
        .arg("--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname")
        .arg(path_flag("proxy-client-cert-file", &pki("front-proxy-client.crt")))
        .arg(path_flag("proxy-client-key-file", &pki("front-proxy-client.key")))
        .arg(path_flag("requestheader-client-ca-file", &pki("front-proxy-ca.crt")))
        .arg("--requestheader-allowed-names=front-proxy-client")
        .arg("--requestheader-extra-headers-prefix=X-Remote-Extra-")
        .arg("--requestheader-group-headers=X-Remote-Group")
        .arg("--requestheader-username-headers=X-Remote-User")
        .arg("--profiling=false");
    command
}

pub(super) fn controller_manager(programs: &Programs, root: &Path) -> Command {
    let kubernetes = root.join("etc/kubernetes");
    let pki = |file: &str| kubernetes.join("pki").join(file);
    let own = kubernetes.join("controller-manager.conf");
    let mut command = Command::new(&programs.kube_controller_manager);
    command
        .arg(path_flag("kubeconfig", &own))
        .arg(path_flag("authentication-kubeconfig", &own))
        .arg(path_flag("authorization-kubeconfig", &own))
        .arg("--bind-address=127.0.0.1")
        .arg("--controllers=*,bootstrapsigner,tokencleaner")
        .arg("--use-service-account-credentials=true")
        .arg("--allocate-node-cidrs=true")
        .arg(format!("--cluster-cidr={PODS}"))
        .arg(format!("--service-cluster-ip-range={SERVICES}"))
        .arg(path_flag("cluster-signing-cert-file", &pki("ca.crt")))
        .arg(path_flag("cluster-signing-key-file", &pki("ca.key")))
        .arg(path_flag("root-ca-file", &pki("ca.crt")))
        .arg(path_flag("client-ca-file", &pki("ca.crt")))
        .arg(path_flag("requestheader-client-ca-file", &pki("front-proxy-ca.crt")))
        .arg(path_flag("service-account-private-key-file", &pki("sa.key")))
        .args(["--leader-elect=false", "--profiling=false"]);
    command
}

fn path_flag(name: &str, path: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(format!("--{name}="));
    flag.push(path);
    flag
}
