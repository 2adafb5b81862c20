//! The pool: import, generate, list, export, retire.

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dynk8s_lab::cluster::NAMESPACE;

use crate::stage::{GATEWAY, Said, Stage, document, private_key};

fn import_two(stage: &Stage) -> anyhow::Result<Said> {
    stage.write("burst-1.conf", &document(2))?;
    stage.write("burst-2.conf", &document(3))?;
    stage.ends("keys import --label pool=burst burst-1.conf burst-2.conf", 0)
}

/// Nothing that was said holds a private key.
fn hides_keys(said: &Said) -> anyhow::Result<()> {
    for number in 2..10 {
        let key = private_key(number);
        ensure!(!said.out.contains(&key) && !said.notes.contains(&key), "{said:?}");
    }
    Ok(())
}

pub(crate) async fn files_become_keys(stage: &mut Stage) -> anyhow::Result<()> {
    let said = import_two(stage)?;
    hides_keys(&said)?;
    ensure!(
        said.out == "secret/burst-1 created\nsecret/burst-2 created\n",
        "{said:?}"
    );
    let secret = stage
        .kubectl(&format!("get secret burst-1 --namespace={NAMESPACE} -o json"))
        .await?;
    let secret: serde_json::Value = serde_json::from_str(&secret)?;
    ensure!(secret["type"] == "dynk8s.du5t1n.me/wireguard-key", "{secret}");
    ensure!(
        secret["metadata"]["labels"]["dynk8s.du5t1n.me/ec2-instance-id"] == "",
        "{secret}"
    );
    ensure!(secret["metadata"]["labels"]["pool"] == "burst", "{secret}");
    let said = import_two(stage)?;
    ensure!(
        said.out == "secret/burst-1 is there already\nsecret/burst-2 is there already\n",
        "{said:?}"
    );
    let said = stage.ends("keys list", 0)?;
    hides_keys(&said)?;
    ensure!(
        said.out.lines().count() == 3 && said.out.contains("10.98.0.3"),
        "{said:?}"
    );
    ensure!(
        stage.key("burst-2")?.is_some_and(|it| it["state"] == "free"),
        "{said:?}"
    );
    Ok(())
}

pub(crate) async fn bad_files_stay_out(stage: &mut Stage) -> anyhow::Result<()> {
    import_two(stage)?;
    let bad = [
        ("PostUp", document(4).replace("DNS", "PostUp = reboot\nDNS")),
        ("`DNS` is missing", document(4).replace("DNS = 192.168.10.1\n", "")),
        (
            "private key of Secret `burst-1`",
            document(2).replace("10.98.0.2", "10.98.0.9"),
        ),
        (
            "address `10.98.0.3` of Secret `burst-2`",
            document(4).replace("10.98.0.4", "10.98.0.3"),
        ),
    ];
    for (words, text) in bad {
        stage.write("good.conf", &document(9))?;
        stage.write("bad.conf", &text)?;
        let said = stage.ends("keys import good.conf bad.conf", 1)?;
        hides_keys(&said)?;
        ensure!(
            said.notes.contains(words) && said.notes.contains("`bad.conf`"),
            "no `{words}` in {said:?}"
        );
        ensure!(
            stage.key("good")?.is_none(),
            "the good file was imported beside the bad one"
        );
    }
    Ok(())
}

pub(crate) async fn generated_keys_have_their_peers(stage: &mut Stage) -> anyhow::Result<()> {
    import_two(stage)?;
    let verb = format!(
        "keys generate --count 2 --network 10.98.0.0/24 --endpoint vpn.onprem.example:51820 --public-key {GATEWAY} \
         --dns 192.168.10.1 --search onprem.example --allowed-ips 10.98.0.0/24,192.168.10.0/24 --preshared"
    );
    let generated = stage.ends(&verb, 0)?;
    let exported = stage.ends("keys export", 0)?;
    for address in [4, 5] {
        let name = format!("wireguard-10-98-0-{address}");
        let key = stage.key(&name)?.with_context(|| format!("no key `{name}`"))?;
        let peer = format!(
            "[Peer]\nPublicKey = {}\n",
            key["publicKey"].as_str().unwrap_or_default()
        );
        for said in [&generated, &exported] {
            ensure!(said.out.contains(&peer), "no `{peer}` in {said:?}");
            ensure!(
                said.out.contains(&format!("AllowedIPs = 10.98.0.{address}/32\n")),
                "{said:?}"
            );
        }
        let field = format!("get secret {name} --namespace={NAMESPACE} -o jsonpath={{.data.wireguard-config}}");
        let text = STANDARD.decode(stage.kubectl(&field).await?.trim())?;
        let text = String::from_utf8(text)?;
        let private = text
            .lines()
            .find_map(|it| it.strip_prefix("PrivateKey = "))
            .context("no private key")?;
        ensure!(
            !generated.out.contains(private) && !generated.notes.contains(private),
            "a private key was printed"
        );
        ensure!(!exported.out.contains(private), "a private key was printed");
    }
    hides_keys(&exported)?;
    ensure!(exported.out.matches("[Peer]").count() == 4, "{exported:?}");
    Ok(())
}

pub(crate) async fn retired_keys_leave(stage: &mut Stage) -> anyhow::Result<()> {
    import_two(stage)?;
    let holder = "dynk8s.du5t1n.me/ec2-instance-id=i-0123456789abcdef0";
    stage
        .kubectl(&format!(
            "label --overwrite secret burst-2 --namespace={NAMESPACE} {holder}"
        ))
        .await?;
    stage.ends("keys retire burst-9", 1)?;
    stage.ends("keys retire burst-1", 0)?;
    ensure!(stage.key("burst-1")?.is_none(), "burst-1 is still there");
    let said = stage.ends("keys retire burst-2", 0)?;
    ensure!(
        said.out.contains("removed when `i-0123456789abcdef0` is gone"),
        "{said:?}"
    );
    ensure!(
        stage
            .key("burst-2")?
            .is_some_and(|it| it["retired"] == true && it["state"] == "in-use")
    );
    stage.ends("keys retire --force burst-2", 0)?;
    ensure!(stage.key("burst-2")?.is_none(), "burst-2 is still there");
    Ok(())
}
