//! What `/metrics` counts after the life of an instance, and of whom.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context as _, ensure};
use dynk8s_lab::cluster::NAMESPACE;

use crate::instance::WITHIN;
use crate::stage::Stage;
use crate::watching::soon;

/// The phases of a join in their order, as metrics have them.
const PHASES: [&str; 7] = [
    "announced",
    "claimed",
    "key",
    "token",
    "certificate",
    "joined",
    "admitted",
];

/// A life takes no longer here, in seconds.
const LONGEST: f64 = 300.0;

/// A name with its labels, and the value.
pub(crate) type Samples = BTreeMap<String, f64>;

/// What two replicas count after the life of an instance: both the same objects, and each what it did itself.
pub(crate) fn a_life_was_counted(stage: &Stage, ports: [u16; 2]) -> anyhow::Result<()> {
    for port in ports {
        soon(|| objects_are_counted(stage, &samples(stage, port)?))?;
    }
    let both = [samples(stage, ports[0])?, samples(stage, ports[1])?];
    for samples in &both {
        let named = samples.keys().find(|it| it.contains("i-0"));
        ensure!(named.is_none(), "a label names an instance: {named:?}");
        ensure!(count(samples, &call("watch", "workers")) >= 1.0, "{samples:?}");
    }
    // A replica that acts later than the other finds the first phases reached.
    let sum = |name: &str| both.iter().map(|it| count(it, name)).sum::<f64>();
    for (verb, resource) in [
        ("create", "secrets"),
        ("patch", "nodes"),
        ("delete", "nodes"),
        ("create", "events"),
    ] {
        ensure!(sum(&call(verb, resource)) >= 1.0, "{verb} {resource}: {both:?}");
    }
    ensure!(sum("dynk8s_reconcile_passes_total{result=\"done\"}") >= 5.0, "{both:?}");
    let mut before = 0.0;
    for phase in PHASES {
        let of_phase = |part: &str| sum(&format!("dynk8s_join_seconds_{part}{{phase=\"{phase}\"}}"));
        let (times, seconds) = (of_phase("count"), of_phase("sum"));
        ensure!(
            (1.0..=3.0).contains(&times),
            "`{phase}` was reached {times} times: {both:?}"
        );
        let mean = seconds / times;
        ensure!(
            (before..LONGEST).contains(&mean),
            "`{phase}` after {mean} s, the one before after {before} s"
        );
        before = mean;
    }
    Ok(())
}

/// Workers by phase and keys by state, as the API server has them.
fn objects_are_counted(stage: &Stage, samples: &Samples) -> anyhow::Result<()> {
    let workers = stage.json(&["get", "workers", "-n", NAMESPACE])?;
    let mut phases = BTreeMap::from([("New", 0.0), ("Ready", 0.0), ("Gone", 0.0)]);
    for worker in workers["items"].as_array().into_iter().flatten() {
        *phases
            .entry(worker["status"]["phase"].as_str().unwrap_or("New"))
            .or_default() += 1.0;
    }
    ensure!(phases["Gone"] >= 1.0, "no tombstone: {workers}");
    for (phase, expected) in phases {
        let counted = samples.get(&format!("dynk8s_workers{{phase=\"{phase}\"}}"));
        ensure!(
            counted == Some(&expected),
            "{expected} Workers are {phase}: {samples:?}"
        );
    }
    let by_type = "--field-selector=type=dynk8s.du5t1n.me/wireguard-key";
    let keys = stage.kubectl(&["get", "secrets", "-n", NAMESPACE, by_type, "-o", "name"])?;
    let counted: f64 = samples
        .iter()
        .filter_map(|(name, value)| name.starts_with("dynk8s_keys{state=").then_some(value))
        .sum();
    ensure!(
        format!("{counted}") == keys.lines().count().to_string(),
        "{keys} are not {samples:?}"
    );
    // The key that the instance had comes back when it has cooled down.
    ensure!(count(samples, "dynk8s_keys{state=\"free\"}") >= 1.0, "{samples:?}");
    Ok(())
}

fn call(verb: &str, resource: &str) -> String {
    format!("dynk8s_api_requests_total{{verb=\"{verb}\",resource=\"{resource}\",outcome=\"ok\"}}")
}

/// What never happened has no sample.
fn count(samples: &Samples, name: &str) -> f64 {
    samples.get(name).copied().unwrap_or_default()
}

pub(crate) fn samples(stage: &Stage, port: u16) -> anyhow::Result<Samples> {
    let asked = stage.machine.run(move || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(WITHIN))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    let answer = asked?.context("failed to ask for metrics")?;
    let (head, text) = answer.split_once("\r\n\r\n").context("no answer")?;
    ensure!(head.contains(" 200 "), "{head}");
    let lines = text.lines().filter(|it| !it.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').with_context(|| format!("`{line}`"))?;
            Ok((name.to_owned(), value.parse()?))
        })
        .collect()
}
