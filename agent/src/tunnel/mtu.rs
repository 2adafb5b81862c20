//! Finding a black hole before TLS finds it: whether packets of the interface's full size come back through the tunnel.

mod decide;

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info};

use super::echo::Echo;
pub(super) use decide::SMALL;
use decide::{Verdict, ladder, verdict};

/// A question is asked so often, for packets get lost without a black hole too.
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_millis(350);

/// The MTU that packets pass with, if that is less than `mtu`. A machine that answers no echo at all proves nothing.
pub(super) async fn smaller(targets: &[IpAddr], mtu: u32) -> Option<u32> {
    let full = u16::try_from(mtu).ok()?;
    for target in targets {
        let echo = match Echo::open(*target) {
            Ok(echo) => echo,
            Err(error) => {
                debug!("failed to ask {target} for an echo: {error}");
                continue;
            }
        };
        let mut heard = ask(&echo, &[SMALL, full]).await;
        if heard.contains(&SMALL) && !heard.contains(&full) {
            heard.extend(ask(&echo, &ladder(full, target.is_ipv6())).await);
        }
        match verdict(&heard, full) {
            Verdict::Unknown => info!("{target} answers no ping through the tunnel, so its MTU of {mtu} is not proven"),
            Verdict::Passes => return None,
            Verdict::Smaller(passes) => return Some(passes.into()),
        }
    }
    None
}

/// The sizes that come back; done as soon as the largest does.
async fn ask(echo: &Echo, sizes: &[u16]) -> Vec<u16> {
    let mut heard = Vec::new();
    let largest = sizes.iter().max();
    for _ in 0..TRIES {
        for size in sizes.iter().filter(|it| !heard.contains(*it)) {
            if let Err(error) = echo.ask(*size).await {
                debug!("failed to ask for an echo: {error}");
            }
        }
        let end = Instant::now() + PATIENCE;
        while largest.is_some_and(|it| !heard.contains(it)) {
            match echo.answer(end.saturating_duration_since(Instant::now())).await {
                Some(size) => heard.push(size),
                None => break,
            }
        }
    }
    heard
}
