//! Import, generate, list, retire, export.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Parser as _;
use dynk8s_api::wireguard::Document;
use dynk8s_api::{PrivateKey, Secret};
use serde_json::{Value, json};
use test_case::test_case;

use super::{NAMESPACE, Scene};
use crate::cli::{Cli, Command, Format, keys};
use crate::commands::failure::Failure;
use crate::commands::keys::decide::import::File;
use crate::commands::keys::{export, generate, import, list, retire};
use crate::commands::terminal::Console;

const GATEWAY: &str = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}")
}

/// A document with a key that its number makes.
fn document(number: u8, address: &str) -> String {
    let mut key = [0; 32];
    (key[0], key[31]) = (number * 8, 64);
    let key = STANDARD.encode(key);
    format!(
        "[Interface]\nPrivateKey = {key}\nAddress = {address}\nDNS = 192.168.10.1\n\n[Peer]\nPublicKey = {GATEWAY}\n\
         AllowedIPs = 10.98.0.0/24, 192.168.10.0/24\nEndpoint = vpn.onprem.example:51820\n"
    )
}

fn file(path: &str, text: &str) -> File {
    File {
        path: path.into(),
        text: Secret::new(text.to_owned()),
    }
}

fn key(holder: Option<&str>, text: &str) -> Value {
    let labels = holder.map_or(json!({}), |it| json!({ "dynk8s.du5t1n.me/ec2-instance-id": it }));
    json!({ "apiVersion": "v1", "kind": "Secret", "type": "dynk8s.du5t1n.me/wireguard-key",
        "metadata": { "name": "burst-1", "labels": labels }, "data": { "wireguard-config": STANDARD.encode(text) } })
}

async fn import_two(scene: &Scene) -> Result<(), Failure> {
    let files = [
        file("burst-1.conf", &document(1, "10.98.0.2/32")),
        file("burst-2.conf", &document(2, "10.98.0.3/32")),
    ];
    import::carry_out(
        &scene.cluster,
        &files,
        &[("pool".to_owned(), "burst".to_owned())],
        &mut scene.console(),
    )
    .await
}

fn arguments(more: &[&str]) -> keys::Generate {
    let command = "dynk8s-provisioner keys generate --count 2 --network 10.98.0.0/24 --endpoint vpn.onprem.example:51820 \
         --public-key AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= --dns 192.168.10.1 --search onprem.example";
    let words = command.split_whitespace().chain(more.iter().copied());
    let Ok(Command::Keys { command }) = Cli::try_parse_from(words).map(|it| it.command) else {
        panic!("no command line")
    };
    let keys::Command::Generate(arguments) = command else {
        panic!("another verb")
    };
    arguments
}

fn reason(done: Result<(), Failure>) -> String {
    match done.unwrap_err() {
        Failure::Usage(error) | Failure::Failed(error) => format!("{error:#}"),
        Failure::Found => String::new(),
    }
}

#[tokio::test]
async fn a_file_becomes_a_free_key_to_the_letter() {
    let scene = Scene::new();
    import_two(&scene).await.unwrap();
    assert_eq!(scene.printed(), "secret/burst-1 created\nsecret/burst-2 created\n");
    let secret = scene.api.get(&path("burst-1")).unwrap();
    assert_eq!(secret["type"], "dynk8s.du5t1n.me/wireguard-key");
    assert_eq!(
        secret["metadata"]["labels"],
        json!({ "dynk8s.du5t1n.me/ec2-instance-id": "", "pool": "burst" })
    );
    let data = json!({ "wireguard-config": STANDARD.encode(document(1, "10.98.0.2/32")) });
    assert_eq!(secret["data"], data);
}

#[tokio::test]
async fn importing_again_changes_nothing() {
    let scene = Scene::new();
    import_two(&scene).await.unwrap();
    let before = scene.api.get(&path("burst-1"));
    import_two(&scene).await.unwrap();
    assert!(
        scene
            .printed()
            .ends_with("secret/burst-1 is there already\nsecret/burst-2 is there already\n")
    );
    assert_eq!(scene.api.get(&path("burst-1")), before);
}

#[test_case(&document(3, "10.98.0.2/32"), "address `10.98.0.2`"; "an address that a key has")]
#[test_case(&document(1, "10.98.0.9/32"), "private key of Secret"; "a private key that a key has")]
#[test_case(&document(3, "10.98.0.4/32"), "address `10.98.0.4` of `a.conf`"; "an address that another file has")]
#[test_case(&document(9, "10.98.0.9/32"), "private key of `a.conf`"; "a private key that another file has")]
#[test_case(&format!("{}PostUp = reboot\n", document(3, "10.98.0.9/32")), "line 10"; "a command")]
#[test_case(&document(3, "10.98.0.9/32").replace("DNS = 192.168.10.1", ""), "`DNS` is missing"; "no DNS")]
#[test_case(&document(3, "10.98.0.9/32").replace("10.98.0.0/24", "169.254.169.254/32"), "VPC's own"; "metadata into the tunnel")]
#[test_case(&document(3, "10.98.0.9/32").replace("10.98.0.0/24", "192.0.2.7/32").replace("vpn.onprem.example", "192.0.2.7"),
    "endpoint"; "the endpoint into the tunnel")]
#[test_case(&document(3, "10.98.0.9/32").replace("Endpoint = vpn.onprem.example:51820\n", ""), "`Endpoint`"; "no endpoint")]
#[test_case("", "missing"; "an empty file")]
#[tokio::test]
async fn one_bad_file_keeps_all_out(bad: &str, expected: &str) {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(Some(""), &document(1, "10.98.0.2/32")));
    let files = [file("a.conf", &document(9, "10.98.0.4/32")), file("b.conf", bad)];
    let reason = reason(import::carry_out(&scene.cluster, &files, &[], &mut scene.console()).await);
    assert!(reason.contains("`b.conf`") && reason.contains(expected), "{reason}");
    assert_eq!(scene.api.lock().objects.len(), 1);
    assert_eq!(scene.printed(), "");
}

#[test_case("10.98.0.0/24", "0.0.0.0/0"; "a default route")]
#[test_case("10.98.0.0/24", "0.0.0.0/0, ::/0"; "both default routes")]
#[test_case("10.98.0.0/24", "169.254.0.0/16"; "a network with metadata in it")]
#[test_case("vpn.onprem.example", "192.168.10.7"; "a network with the endpoint in it")]
#[test_case("DNS", "Table = off\nDNS"; "no routes")]
#[tokio::test]
async fn what_the_agent_can_route_is_let_in(what: &str, other: &str) {
    let scene = Scene::new();
    let files = [file("a.conf", &document(1, "10.98.0.2/32").replace(what, other))];
    import::carry_out(&scene.cluster, &files, &[], &mut scene.console())
        .await
        .unwrap();
    assert_eq!(scene.api.lock().objects.len(), 1);
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused() {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(Some(""), &document(7, "10.98.0.7/32")));
    assert!(reason(import_two(&scene).await).contains("another content"));
    assert_eq!(scene.api.lock().objects.len(), 1);
}

#[tokio::test]
async fn what_fails_half_way_leaves_nothing() {
    let scene = Scene::new();
    scene.api.lock().creations = Some(1);
    let reason = reason(import_two(&scene).await);
    assert!(
        reason.contains("nothing is left") && reason.contains("`burst-2`"),
        "{reason}"
    );
    assert_eq!(scene.api.lock().objects.len(), 0);
}

#[tokio::test]
async fn what_was_handed_out_meanwhile_is_named() {
    let scene = Scene::new();
    scene.api.lock().creations = Some(1);
    scene.api.lock().contested.insert(path("burst-1"));
    let reason = reason(import_two(&scene).await);
    assert!(
        reason.contains("these are left of what was created: `burst-1`"),
        "{reason}"
    );
}

#[test_case(&[], false; "plain")]
#[test_case(&["--preshared", "--mtu", "1400", "--label", "pool=burst"], true; "with all there is")]
#[tokio::test]
async fn generated_keys_and_peers_fit(more: &[&str], preshared: bool) {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(Some(""), &document(1, "10.98.0.2/32")));
    let arguments = arguments(&[more, &["--allowed-ips", "10.98.0.0/24,192.168.10.0/24"]].concat());
    generate::carry_out(&scene.cluster, arguments, &mut scene.console())
        .await
        .unwrap();
    for address in ["10.98.0.3", "10.98.0.4"] {
        let name = format!("wireguard-{}", address.replace('.', "-"));
        let text = scene.api.get(&path(&name)).unwrap()["data"]["wireguard-config"].clone();
        let text = String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap();
        let document = Document::parse(&text).unwrap();
        let public = PrivateKey::from_secret(&document.interface.private_key)
            .unwrap()
            .public();
        let psk = document.peers[0].preshared_key.as_ref();
        assert_eq!(psk.is_some(), preshared);
        assert_eq!(document.interface.mtu, preshared.then_some(1400));
        let psk = psk.map_or_else(String::new, |it| format!("PresharedKey = {}\n", it.expose()));
        let peer = format!("# Secret {name}\n[Peer]\nPublicKey = {public}\n{psk}AllowedIPs = {address}/32\n");
        assert!(scene.printed().contains(&peer), "{}", scene.printed());
        assert_hidden(&scene, document.interface.private_key.expose());
    }
}

#[test_case(&["--allowed-ips", "169.254.169.254/32"], "VPC's own"; "metadata into the tunnel")]
#[test_case(&["--allowed-ips", "10.98.0.0/24", "--prefix", "Bad_Name"], "--prefix"; "no name")]
#[test_case(&["--allowed-ips", "10.98.0.0/24", "--first", "10.99.0.1"], "no address of a host"; "outside of the network")]
#[test_case(&["--allowed-ips", "10.98.0.0/24", "--mtu", "70"], "MTU"; "an MTU that nobody has")]
#[tokio::test]
async fn nothing_is_generated_that_nobody_can_use(more: &[&str], expected: &str) {
    let scene = Scene::new();
    let reason = reason(generate::carry_out(&scene.cluster, arguments(more), &mut scene.console()).await);
    assert!(reason.contains(expected), "{reason}");
    assert_eq!(scene.api.lock().objects.len(), 0);
}

#[tokio::test]
async fn no_verb_prints_a_private_key() {
    let scene = Scene::new();
    import_two(&scene).await.unwrap();
    let broken = document(3, "10.98.0.4/32").replace("DNS", "DSN");
    scene.api.put(&path("burst-3"), key(None, &broken));
    for format in [Format::Table, Format::Json] {
        list(&scene.cluster, format, &mut scene.console()).await.unwrap();
    }
    let _ = export::export(&scene.cluster, &mut scene.console()).await;
    let failed = reason(import::carry_out(&scene.cluster, &[file("x.conf", &broken)], &[], &mut scene.console()).await);
    scene.console().note(&failed);
    scene
        .console()
        .note(&format!("{:?}", scene.cluster.pool().await.unwrap()));
    retire::carry_out(&scene.cluster, &["burst-1".to_owned()], false, &mut scene.console())
        .await
        .unwrap();
    for number in 1..=3 {
        let text = document(number, "10.98.0.2/32");
        assert_hidden(
            &scene,
            text.lines().nth(1).unwrap().strip_prefix("PrivateKey = ").unwrap(),
        );
    }
}

fn assert_hidden(scene: &Scene, private: &str) {
    let said = scene.printed() + &scene.noted();
    assert!(!said.contains(private));
    assert!(!said.contains(&STANDARD.encode(private)));
}

#[tokio::test]
async fn the_exported_peers_are_those_of_all_keys() {
    let scene = Scene::new();
    import_two(&scene).await.unwrap();
    export::export(&scene.cluster, &mut scene.console()).await.unwrap();
    let key = Document::parse(&document(2, "10.98.0.3/32"))
        .unwrap()
        .interface
        .private_key;
    let public = PrivateKey::from_secret(&key).unwrap().public();
    let peer = format!("# Secret burst-2\n[Peer]\nPublicKey = {public}\nAllowedIPs = 10.98.0.3/32\n");
    assert!(scene.printed().ends_with(&peer), "{}", scene.printed());
    scene.api.put(&path("broken"), self::key(Some(""), "[Interface]\n"));
    assert!(reason(export::export(&scene.cluster, &mut scene.console()).await).contains("`burst-1`"));
}

#[test_case(Some(""), false, Some("deleted"), false; "a free one is deleted")]
#[test_case(None, false, Some("deleted"), false; "one without a label is deleted")]
#[test_case(Some("i-0123456789abcdef0"), false, Some("marked"), true; "one in use is marked")]
#[test_case(Some("i-0123456789abcdef0"), true, Some("deleted"), false; "one in use is deleted by force")]
#[tokio::test]
async fn retires(holder: Option<&str>, force: bool, said: Option<&str>, stays: bool) {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(holder, &document(1, "10.98.0.2/32")));
    let names = ["burst-1".to_owned()];
    retire::carry_out(&scene.cluster, &names, force, &mut scene.console())
        .await
        .unwrap();
    assert!(scene.printed().contains(said.unwrap()), "{}", scene.printed());
    let left = scene.api.get(&path("burst-1"));
    assert_eq!(left.is_some(), stays);
    if let Some(left) = left {
        assert_eq!(left["metadata"]["labels"]["dynk8s.du5t1n.me/retired"], "true");
        assert_eq!(
            left["metadata"]["labels"]["dynk8s.du5t1n.me/ec2-instance-id"],
            "i-0123456789abcdef0"
        );
    }
}

#[test_case(Some(""); "a free one")]
#[test_case(Some("i-0123456789abcdef0"); "one in use")]
#[tokio::test]
async fn a_key_that_is_handed_out_at_that_moment_stays(holder: Option<&str>) {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(holder, &document(1, "10.98.0.2/32")));
    scene.api.lock().contested.insert(path("burst-1"));
    let done = retire::carry_out(&scene.cluster, &["burst-1".to_owned()], false, &mut scene.console()).await;
    assert!(reason(done).contains("at the same moment"));
    let labels = scene.api.get(&path("burst-1")).unwrap()["metadata"]["labels"].clone();
    assert!(labels["dynk8s.du5t1n.me/retired"].is_null());
}

#[tokio::test]
async fn an_unknown_key_keeps_all_from_being_retired() {
    let scene = Scene::new();
    scene
        .api
        .put(&path("burst-1"), key(Some(""), &document(1, "10.98.0.2/32")));
    let names = ["burst-1".to_owned(), "burst-9".to_owned()];
    let done = retire::carry_out(&scene.cluster, &names, false, &mut scene.console()).await;
    assert!(reason(done).contains("`burst-9`"));
    assert!(scene.api.get(&path("burst-1")).is_some());
}

/// Who reads has gone away, as `head` does; what was asked for is done all the same.
struct Deserted;

impl std::io::Write for Deserted {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn peers_that_nobody_read_are_to_be_had_again() {
    let scene = Scene::new();
    let mut console = Console::new(Deserted, scene.notes.clone());
    let said = reason(
        generate::carry_out(
            &scene.cluster,
            arguments(&["--allowed-ips", "10.98.0.0/24,192.168.10.0/24"]),
            &mut console,
        )
        .await,
    );
    assert!(
        said.contains("created 2 Secrets") && said.contains("`keys export`"),
        "{said}"
    );
    assert_eq!(scene.api.lock().objects.len(), 2);
    export::export(&scene.cluster, &mut scene.console()).await.unwrap();
    assert_eq!(scene.printed().matches("[Peer]").count(), 2);
}

#[tokio::test]
async fn work_is_not_left_half_done_because_nobody_reads() {
    let scene = Scene::new();
    import_two(&scene).await.unwrap();
    let mut console = Console::new(Deserted, scene.notes.clone());
    let names = ["burst-1".to_owned(), "burst-2".to_owned()];
    retire::carry_out(&scene.cluster, &names, false, &mut console)
        .await
        .unwrap();
    assert_eq!(scene.api.lock().objects.len(), 0);
    for format in [Format::Table, Format::Json] {
        list(&scene.cluster, format, &mut console).await.unwrap();
    }
}
