//! What a process has cost so far, as the kernel counts it.

use std::fs;
use std::ops::Sub;
use std::time::Duration;

use anyhow::Context;

/// `USER_HZ`: what the kernel tells times in, on every architecture that dynk8s runs on.
const TICK: Duration = Duration::from_millis(10);

/// The fields of `/proc/<process>/stat` behind the name, which may hold spaces: time in the program, and in the kernel for it.
const TIMES: std::ops::Range<usize> = 11..13;

/// Counted since the process began, but for its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// How often it slept and was woken.
    pub wake_ups: u64,
    pub processor: Duration,
    /// Memory in KiB: all that is resident, and what of it is its own. The rest is its file, the kernel's to keep or to drop.
    pub resident: u64,
    pub own: u64,
}

impl Cost {
    pub fn of(process: u32) -> anyhow::Result<Self> {
        let folder = format!("/proc/{process}");
        let read = |path: String| fs::read_to_string(&path).with_context(|| format!("failed to read `{path}`"));
        let mut wake_ups = 0;
        let tasks =
            fs::read_dir(format!("{folder}/task")).with_context(|| format!("failed to list `{folder}/task`"))?;
        for task in tasks {
            // A thread may end in between, and the count of it ends with it.
            if let Ok(status) = fs::read_to_string(task?.path().join("status")) {
                wake_ups += number(&status, "voluntary_ctxt_switches:")?;
            }
        }
        let status = read(format!("{folder}/status"))?;
        Ok(Self {
            wake_ups,
            processor: processor(&read(format!("{folder}/stat"))?)?,
            resident: number(&status, "VmRSS:")?,
            own: number(&status, "RssAnon:")?,
        })
    }
}

impl Sub for Cost {
    type Output = Self;

    /// What was added since; memory is as it is now.
    fn sub(self, before: Self) -> Self {
        Self {
            wake_ups: self.wake_ups.saturating_sub(before.wake_ups),
            processor: self.processor.saturating_sub(before.processor),
            ..self
        }
    }
}

fn number(status: &str, field: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|it| it.strip_prefix(field));
    let word = line.and_then(|it| it.split_whitespace().next());
    word.and_then(|it| it.parse().ok())
        .with_context(|| format!("no number at `{field}`"))
}

fn processor(stat: &str) -> anyhow::Result<Duration> {
    let (_, behind_name) = stat.rsplit_once(')').context("no name in the process' times")?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let times = fields.get(TIMES).context("too few fields in the process' times")?;
    let ticks: u32 = times.iter().filter_map(|it| it.parse::<u32>().ok()).sum();
    Ok(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 90 0 0 0 12 3 0 0 20 0 1 0 100 2000000 400";
        assert_eq!(processor(stat).unwrap(), Duration::from_millis(150));
        assert!(processor("7 (short) S 1").is_err());
    }

    #[test]
    fn this_process_has_a_cost() {
        let before = Cost::of(std::process::id()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let cost = Cost::of(std::process::id()).unwrap() - before;
        assert!(cost.resident >= cost.own && cost.own > 0, "{cost:?}");
        assert!(cost.wake_ups > 0, "{cost:?}");
    }

    #[test]
    fn threads_may_end_meanwhile() {
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    std::thread::spawn(|| {}).join().unwrap();
                }
            });
            let costs: Vec<_> = (0..1000).map(|_| Cost::of(std::process::id())).collect();
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(costs.into_iter().all(|it| it.is_ok()));
        });
    }
}
