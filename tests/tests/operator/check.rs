//! `check`: green on a cluster that is right, red for each thing that is broken, and red no longer once it is mended.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use dynk8s_lab::cluster::{MANIFESTS, NAMESPACE};
use dynk8s_lab::region::until;
use serde_json::Value;

use crate::stage::{Stage, document, url};

/// The API server learns of rights by a watch.
const SOON: Duration = Duration::from_secs(15);

/// Something that is broken, and what `check` says of it.
struct Fault {
    check: &'static str,
    words: &'static str,
    breaks: &'static [&'static str],
    /// Beyond applying the manifests again.
    mends: &'static [&'static str],
}

const FAULTS: &[Fault] = &[
    Fault {
        check: "policy",
        words: "the policy `dynk8s-tokens` is not there",
        breaks: &["delete validatingadmissionpolicy dynk8s-tokens"],
        mends: &[],
    },
    Fault {
        check: "policy",
        words: "the binding of the policy `dynk8s-nodes` is not there",
        breaks: &["delete validatingadmissionpolicybinding dynk8s-nodes"],
        mends: &[],
    },
    Fault {
        check: "policy",
        words: "the policy `dynk8s-startup-taint` is not the one we ship; it differs in `failurePolicy`",
        breaks: &[
            "patch validatingadmissionpolicy dynk8s-startup-taint --type=merge -p {\"spec\":{\"failurePolicy\":\"Ignore\"}}",
        ],
        mends: &[],
    },
    Fault {
        check: "rights",
        words: "`dynk8s-provisioner-reconcile` may not create secrets in `kube-system`",
        breaks: &["delete rolebinding dynk8s-provisioner-reconcile --namespace=kube-system"],
        mends: &[],
    },
    Fault {
        check: "excess rights",
        words: "`dynk8s-provisioner-serve` may",
        breaks: &[
            "create clusterrolebinding too-much --clusterrole=view --clusterrole=cluster-admin \
                   --serviceaccount=dynk8s-system:dynk8s-provisioner-serve",
        ],
        mends: &["delete clusterrolebinding too-much"],
    },
    Fault {
        check: "approvals",
        words: "too-soon",
        breaks: &["create clusterrolebinding too-soon \
                   --clusterrole=system:certificates.k8s.io:certificatesigningrequests:nodeclient --group=system:bootstrappers"],
        mends: &["delete clusterrolebinding too-soon"],
    },
    Fault {
        check: "definition",
        words: "is of another version",
        breaks: &["patch crd workers.dynk8s.du5t1n.me --type=json -p \
                   [{\"op\":\"remove\",\"path\":\"/spec/versions/0/additionalPrinterColumns\"}]"],
        mends: &[],
    },
    Fault {
        check: "keys",
        words: "`burst-1`: line",
        breaks: &[
            "patch secret burst-1 --namespace=dynk8s-system --type=merge -p {\"stringData\":{\"wireguard-config\":\"PostUp\"}}",
        ],
        mends: &["delete secret burst-1 --namespace=dynk8s-system"],
    },
];

fn verb() -> String {
    format!("check --config provisioner.toml --url {} --max 1 -o json", url())
}

fn fill_the_pool(stage: &Stage) -> anyhow::Result<()> {
    stage.write("burst-1.conf", &document(2))?;
    stage.write("burst-2.conf", &document(3))?;
    stage.ends("keys import burst-1.conf burst-2.conf", 0)?;
    Ok(())
}

/// What `check` found, and whether it ended well.
fn found(stage: &Stage) -> anyhow::Result<(bool, Vec<Value>)> {
    let said = stage.run(&verb())?;
    let findings = serde_json::from_str(&said.out).with_context(|| format!("{said:?}"))?;
    match said.code {
        Some(0) => Ok((true, findings)),
        Some(1) => Ok((false, findings)),
        _ => bail!("{said:?}"),
    }
}

fn failures(findings: &[Value]) -> Vec<&Value> {
    findings.iter().filter(|it| it["result"] == "failed").collect()
}

async fn becomes_green(stage: &Stage) -> anyhow::Result<()> {
    let green = until("everything is right", SOON, async || {
        let (well, findings) = found(stage)?;
        Ok((well && failures(&findings).is_empty()).then_some(()))
    });
    match green.await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(format!("{:?}", failures(&found(stage)?.1)))),
    }
}

pub(crate) async fn is_green(stage: &mut Stage) -> anyhow::Result<()> {
    fill_the_pool(stage)?;
    becomes_green(stage).await?;
    let (_, findings) = found(stage)?;
    for check in [
        "definition",
        "rights",
        "excess rights",
        "policy",
        "approvals",
        "configuration",
        "api server",
        "sts",
        "public url",
        "keys",
        "networks",
        "pool",
    ] {
        let is_ok = |it: &Value| it["check"] == check && it["result"] == "ok";
        ensure!(findings.iter().any(is_ok), "`{check}` is not ok: {findings:?}");
    }
    let said = stage.ends("check --config provisioner.toml", 0)?;
    ensure!(
        said.out
            .contains("remedy: look yourself: `aws sns get-topic-attributes"),
        "{said:?}"
    );
    Ok(())
}

pub(crate) async fn sees_each_fault(stage: &mut Stage) -> anyhow::Result<()> {
    for fault in FAULTS {
        fill_the_pool(stage)?;
        for words in fault.breaks {
            stage.kubectl(words).await?;
        }
        let is_it =
            |it: &&Value| it["check"] == fault.check && it["found"].as_str().is_some_and(|it| it.contains(fault.words));
        let what = format!("`{}` is seen", fault.words);
        let seen = until(&what, SOON, async || {
            let (well, findings) = found(stage)?;
            Ok((!well && failures(&findings).iter().any(&is_it)).then_some(()))
        });
        if let Err(error) = seen.await {
            return Err(error.context(format!("{:?}", failures(&found(stage)?.1))));
        }
        for words in fault.mends {
            stage.kubectl(words).await?;
        }
        let again = format!("apply --server-side --force-conflicts -k {MANIFESTS}");
        stage.kubectl(&again).await?;
        fill_the_pool(stage)?;
        becomes_green(stage)
            .await
            .with_context(|| format!("after `{}` was mended", fault.words))?;
    }
    Ok(())
}

pub(crate) async fn sees_a_bad_configuration(stage: &mut Stage) -> anyhow::Result<()> {
    fill_the_pool(stage)?;
    let cases = [
        ("api server", stage.configuration("https://gateway.onprem.example:6443")),
        (
            "configuration",
            stage
                .configuration("https://api.onprem.example:6443")
                .replace("name =", "nome ="),
        ),
        ("networks", stage.configuration("https://10.96.0.1:443")),
    ];
    for (check, text) in cases {
        stage.write("bad.toml", &text)?;
        let said = stage.run(&verb().replace("provisioner.toml", "bad.toml"))?;
        let findings: Vec<Value> = serde_json::from_str(&said.out)?;
        let bad = findings.iter().any(|it| it["check"] == check && it["result"] != "ok");
        ensure!(bad, "`{check}` is not seen: {said:?}");
    }
    // Without `--config` it looks for what the Deployment mounts; nobody has made that ConfigMap here.
    let said = stage.ends("check -o json", 1)?;
    ensure!(
        said.out.contains(NAMESPACE) || said.out.contains("ConfigMap"),
        "{said:?}"
    );
    Ok(())
}
