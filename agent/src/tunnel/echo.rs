//! Asking a machine for an echo (RFC 792, RFC 4443), in packets of any size.

mod packet;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use packet::{echo_reply, echo_request};

/// A raw socket that hears one machine alone. Tokio has no type for it, and to one for datagrams it is no other.
pub(super) struct Echo {
    socket: UdpSocket,
    target: IpAddr,
    /// Tells the answers to this socket from those to others.
    identity: u16,
}

impl Echo {
    pub(super) fn open(target: IpAddr) -> io::Result<Self> {
        let (domain, protocol) = match target {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.set_nonblocking(true)?;
        socket.connect(&SocketAddr::new(target, 0).into())?;
        Ok(Self {
            socket: UdpSocket::from_std(socket.into())?,
            target,
            identity: rand::random(),
        })
    }

    /// Asks for an echo in a packet of `size` bytes, its IP header included. That a packet does not fit is no error: it
    /// gets lost, as it would on the way.
    pub(super) async fn ask(&self, size: u16) -> io::Result<()> {
        let sent = self.socket.send(&echo_request(self.target, self.identity, size)).await;
        match sent {
            Err(error) if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// The size of the next packet that came back; `None` if none does in time.
    pub(super) async fn answer(&self, within: Duration) -> Option<u16> {
        timeout(within, self.next()).await.ok()?.ok()
    }

    async fn next(&self) -> io::Result<u16> {
        let mut buffer = vec![0; 65_535];
        loop {
            let length = self.socket.recv(&mut buffer).await?;
            if let Some(size) = echo_reply(self.target, self.identity, &buffer[..length]) {
                return Ok(size);
            }
        }
    }
}
