//! What an operator reads when something is missing, wrong or forbidden: one line that names the object, the cause and, where there is
//! one, the way out; and an exit code that tells wrong words (2) from work that failed (1).

mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use dynk8s_lab::cluster::NAMESPACE;
use dynk8s_lab::host::containment::SCRATCH;
use serde_json::json;

use self::table::MISTAKES;
use crate::stage::{Stage, Who, file};

const READY: &str = "i-0ee00000000000001";
const DOCUMENT: &str = "[Interface]\nPrivateKey = CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA=\nAddress = 10.98.2.1/32\n\
    DNS = 192.168.10.1\n[Peer]\nPublicKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n\
    Endpoint = vpn.onprem.example:51820\nAllowedIPs = 192.168.10.0/24\n";
const CONFIGURATION: &str = "[cluster]\nserver = \"https://api.onprem.example:6443\"\n\
    [sns]\ntopics = [\"arn:aws:sns:eu-central-1:123456789012:dynk8s\"]\n\
    [[node_group]]\nname = \"burst\"\naccounts = [\"123456789012\"]\nregions = [\"eu-central-1\"]\n";
const GENERATE: &str = "keys generate --count 3 --endpoint vpn.onprem.example:51820 --dns 192.168.10.1 --allowed-ips 192.168.10.0/24 \
    --public-key AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

pub(crate) fn mistakes_are_explained(stage: &Stage) -> anyhow::Result<()> {
    let folder = furnish(stage)?;
    let mut wrong = Vec::new();
    for mistake in MISTAKES {
        wrong.extend(unexplained(stage, &folder, mistake)?);
    }
    for (network, words) in [("10.98.2.0/30", "10.98.2.0/30"), ("10.98.2.1/32", "10.98.2.1/32")] {
        let verb = format!("{GENERATE} --network {network}");
        wrong.extend(unexplained(
            stage,
            &folder,
            &("admin", &verb, 1, &["nothing was generated", words]),
        )?);
    }
    let verb = format!("{GENERATE} --network 10.98.2.0/24 --prefix Burst");
    wrong.extend(unexplained(
        stage,
        &folder,
        &("admin", &verb, 2, &["`Burst-10-98-2-", "--prefix"]),
    )?);
    stage.kubectl(&["delete", "crd", "workers.dynk8s.du5t1n.me"])?;
    for (verb, code, words) in [
        ("workers list", 1, &["does not know Workers", "crd"][..]),
        (
            "workers release --yes i-0fffffff",
            1,
            &["no Worker `i-0fffffff`", "`workers list`"],
        ),
    ] {
        wrong.extend(unexplained(stage, &folder, &("admin", verb, code, words))?);
    }
    stage.install_again()?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The files that an operator may name.
fn furnish(stage: &Stage) -> anyhow::Result<PathBuf> {
    let folder = Path::new(SCRATCH).join("mistakes");
    std::fs::create_dir_all(folder.join("folder"))?;
    let stranger = std::fs::read_to_string(Path::new(SCRATCH).join("serve"))?;
    let stranger: serde_json::Value = serde_json::from_str(&stranger)?;
    let mut unreachable = stranger.clone();
    unreachable["clusters"][0]["cluster"]["server"] = json!("https://192.168.10.10:1");
    let mut unknown = stranger;
    unknown["users"][0]["user"]["token"] = json!("nobody's");
    let (unreachable, unknown) = (unreachable.to_string(), unknown.to_string());
    let (long, too_long) = ("#".repeat(100_000), "#".repeat((1 << 20) + 1));
    let files: [(&str, &[u8]); 10] = [
        ("good.conf", DOCUMENT.as_bytes()),
        ("binary.conf", b"[Interface]\n\xff\xfe"),
        ("large.conf", long.as_bytes()),
        ("large.toml", too_long.as_bytes()),
        ("right.toml", CONFIGURATION.as_bytes()),
        (
            "unknown.toml",
            &CONFIGURATION.replace("accounts", "nome = 1\naccounts").into_bytes(),
        ),
        ("nonsense", b"[not yaml: {"),
        ("unreachable", unreachable.as_bytes()),
        ("stranger", unknown.as_bytes()),
        ("admin", &std::fs::read(stage.admin_kubeconfig())?),
    ];
    for (name, content) in files {
        std::fs::write(folder.join(name), content)?;
    }
    for half in ["serve", "reconcile"] {
        std::fs::copy(Path::new(SCRATCH).join(half), folder.join(half))?;
    }
    let worker = json!({
        "apiVersion": "dynk8s.du5t1n.me/v1alpha1",
        "kind": "Worker",
        "metadata": {"name": READY, "namespace": NAMESPACE},
        "spec": {"instanceId": READY, "wished": "running"},
    });
    stage.allowed(Who::Admin, &format!("create -f {}", file(&worker)?))?;
    let node = json!({"status": {"node": {"name": READY, "uid": "x", "ready": true}}}).to_string();
    let words = [
        "patch",
        "worker",
        READY,
        "-n",
        NAMESPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &node,
    ];
    stage.kubectl(&words)?;
    Ok(folder)
}

/// What is not as it should be.
fn unexplained(stage: &Stage, folder: &Path, mistake: &(&str, &str, i32, &[&str])) -> anyhow::Result<Option<String>> {
    let (kubeconfig, words, code, expected) = mistake;
    let mut command = Command::new(&stage.provisioner);
    command
        .env_clear()
        .env("KUBECONFIG", folder.join(kubeconfig))
        .args(words.split_whitespace())
        .current_dir(folder);
    let output = stage
        .machine
        .run(move || command.output())?
        .context("failed to start the program")?;
    let said = String::from_utf8(output.stderr)?;
    let error = said.lines().filter(|it| it.starts_with("error: ")).count();
    // The parser of the command line adds its usage, and several faults have a line each.
    let more = said.lines().skip_while(|it| !it.starts_with("error: ")).skip(1);
    let lines = more.filter(|it| !it.starts_with("  ")).count();
    let is_short = lines == 0 || said.contains("--help");
    let missing = expected.iter().find(|it| !said.contains(**it));
    let right = output.status.code() == Some(*code) && missing.is_none() && error == 1 && is_short;
    let shown = format!(
        "as {kubeconfig}, `{words}`: {:?}, without {missing:?}: {said}",
        output.status.code()
    );
    Ok((!right).then_some(shown))
}
