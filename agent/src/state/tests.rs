use dynk8s_api::claim::{ClaimAnswer, Cluster, NodeSettings};

use super::{State, instances};

fn answer() -> ClaimAnswer {
    ClaimAnswer {
        generation: 3,
        wireguard: "[Interface]".to_owned().into(),
        cluster: Cluster {
            server: "https://api.example:6443".to_owned(),
            ca: "ca".to_owned(),
            version: "v1.37.2".to_owned(),
        },
        token: "abcdef.0123456789abcdef".to_owned().into(),
        node: NodeSettings::default(),
    }
}

#[test]
fn keeps_what_a_reboot_needs_and_no_token() {
    let base = tempfile::tempdir().unwrap();
    let state = State::open(base.path(), &"i-0123abcd".parse().unwrap()).unwrap();
    assert!(state.kept().unwrap().is_none());
    assert_eq!(state.spent().unwrap(), None);

    let mut answer = answer();
    state.keep(&answer).unwrap();
    let kept = state.kept().unwrap().unwrap();
    assert_eq!(kept.wireguard.expose(), "[Interface]");
    assert_eq!(kept.cluster, answer.cluster);
    for file in base.path().join("i-0123abcd").read_dir().unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("0123456789abcdef"), "{text}");
    }

    assert_eq!(state.spent().unwrap(), None);
    state.note_joined().unwrap();
    state.note_reset().unwrap();
    assert!(!state.has_joined() && state.kept().unwrap().is_none());
    assert_eq!(state.spent().unwrap(), Some(3));
    answer.generation = 4;
    state.keep(&answer).unwrap();
    assert_eq!(state.spent().unwrap(), None, "what came after a reset is not spent");
}

#[test]
fn is_another_one_for_another_instance() {
    let base = tempfile::tempdir().unwrap();
    let one = State::open(base.path(), &"i-0123abcd".parse().unwrap()).unwrap();
    let two = State::open(base.path(), &"i-0123abce".parse().unwrap()).unwrap();
    one.note_joined().unwrap();
    assert!(one.has_joined() && !two.has_joined());
    one.note_kubelet_enabled().unwrap();
    assert!(one.has_enabled_kubelet() && !two.has_enabled_kubelet());
    one.note_kubelet_as_before().unwrap();
    assert!(!one.has_enabled_kubelet());
    std::fs::create_dir(base.path().join("lost+found")).unwrap();
    assert_eq!(instances(base.path()).unwrap().len(), 2);
    assert!(instances(&base.path().join("absent")).unwrap().is_empty());
}
#[test]
fn keeps_of_other_instances_only_what_the_host_was() {
    let base = tempfile::tempdir().unwrap();
    let [foreign, own] = ["i-0123abcd", "i-0123abce"].map(|id| State::open(base.path(), &id.parse().unwrap()).unwrap());
    for state in [&foreign, &own] {
        for path in [state.claim_key(), state.kubelet_key(), state.names()] {
            std::fs::write(path, "x").unwrap();
        }
        state.keep(&answer()).unwrap();
        state.note_kubelet_enabled().unwrap();
        state.note_joined().unwrap();
    }
    let forgotten = own.forget_others(base.path()).unwrap();
    assert_eq!(forgotten, ["i-0123abcd".parse().unwrap()]);
    assert!(own.has_joined() && own.kept().unwrap().is_some() && own.claim_key().exists());
    let left = std::fs::read_dir(base.path().join("i-0123abcd")).unwrap();
    let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["kubelet-enabled", "names.json"]);
    assert!(own.forget_others(base.path()).unwrap().is_empty());
}
