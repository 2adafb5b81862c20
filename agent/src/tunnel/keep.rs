//! Keeping a tunnel alive: what is looked at from time to time, and what is done when the other side falls silent.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use super::{Netlink, Tunnel, device, endpoint};
use crate::uplink::Uplink;

/// WireGuard renews a session every 120 s; a handshake that is older than this has failed for a while. Together with the
/// pause between two looks it is less than the three minutes that a session lives.
const STALE: Duration = Duration::from_secs(135);

/// What a look brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The other side has answered not long ago.
    Alive,
    /// It has not, and its name still leads where it led.
    Silent,
    /// It has not, and is looked for elsewhere now.
    Followed(SocketAddr),
}

impl Tunnel {
    /// Looks whether the other side is there. If it is silent: follows a name that leads elsewhere, and sets right what
    /// somebody may have changed.
    pub(crate) async fn keep(&mut self, uplink: &Uplink) -> anyhow::Result<Kept> {
        if self.is_alive() {
            return Ok(Kept::Alive);
        }
        // A name that cannot be resolved now leads where it led.
        let resolved = endpoint::resolve_once(&self.document, uplink).await.unwrap_or_default();
        for (peer, addresses) in self.plan.peers.iter_mut().zip(resolved) {
            peer.endpoints = addresses;
        }
        let before = self.places().unwrap_or_default();
        self.device = device::apply(&self.plan)?;
        self.index = Netlink::open()?.apply(&self.plan, &self.uplink).await?;
        for (peer, there) in self.plan.peers.iter().zip(&before) {
            if let Some(next) = next(*there, &peer.endpoints) {
                self.device.move_peer(peer.public_key, next)?;
            }
        }
        let after = self.places()?;
        let moved = after.iter().find(|it| !before.contains(it)).copied().flatten();
        Ok(moved.map_or(Kept::Silent, Kept::Followed))
    }

    fn is_alive(&self) -> bool {
        let last = self.device.last_handshake().unwrap_or_default();
        let age = last.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.is_some_and(|it| it < STALE)
    }

    /// Where the device takes the peers to be, in the plan's order.
    fn places(&self) -> anyhow::Result<Vec<Option<SocketAddr>>> {
        let peers = self.device.peers()?;
        let place = |key| peers.iter().find(|it| it.public_key == key).and_then(|it| it.endpoint);
        Ok(self.plan.peers.iter().map(|it| place(it.public_key)).collect())
    }
}

/// Where a silent peer is looked for next: at the next address of its name. A peer that is at none of them has been moved
/// to the first.
fn next(there: Option<SocketAddr>, addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let place = addresses.iter().position(|it| Some(*it) == there)?;
    let next = addresses[(place + 1) % addresses.len()];
    (Some(next) != there).then_some(next)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use test_case::test_case;

    use super::next;

    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([198, 51, 100, last], 51820))
    }

    #[test_case(Some(20), &[20] => None; "the name leads where it led")]
    #[test_case(Some(20), &[30] => None; "the name leads elsewhere, where the peer is by now")]
    #[test_case(Some(20), &[20, 21] => Some(at(21)); "the name has another address")]
    #[test_case(Some(21), &[20, 21] => Some(at(20)); "and the first one again")]
    #[test_case(None, &[20] => None; "the peer was nowhere")]
    #[test_case(Some(20), &[] => None; "the name leads nowhere")]
    fn goes_on_to_the_next_address(there: Option<u8>, addresses: &[u8]) -> Option<SocketAddr> {
        let addresses: Vec<SocketAddr> = addresses.iter().copied().map(at).collect();
        next(there.map(at), &addresses)
    }
}
