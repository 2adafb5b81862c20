//! Asking: the API servers by TLS, DNS by both of its ways.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use dynk8s_api::claim::Cluster;
use reqwest::Method;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;
use tracing::debug;

use super::decide::{Asked, Tried};
use super::dns;
use crate::api_server::{Answer, ApiServer};
use crate::names;

const PORT: u16 = 53;
const TRIES: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(2);

/// An object, or nothing if it cannot be read: that is no finding.
pub(super) async fn read(api_server: ApiServer<'_>, path: &str) -> Value {
    let answer = api_server.ask(Method::GET, path, None).await;
    answer.and_then(Answer::object).unwrap_or_else(|error| {
        debug!("failed to read `{path}`: {error:#}");
        Value::Null
    })
}

/// Whether an API server of the cluster answers there.
pub(super) async fn tried(address: SocketAddr, cluster: &Cluster) -> Tried {
    let fault = names::is_api_server(address, cluster).await.err();
    Tried {
        address,
        fault: fault.map(|it| format!("{it:#}")),
    }
}

/// Whether a server answers a question about the API server's Service.
pub(super) async fn asked(server: IpAddr, domain: &str) -> Asked {
    let address = SocketAddr::new(server, PORT);
    let (udp, tcp) = tokio::join!(by_udp(address, domain), by_tcp(address, domain));
    Asked { server, udp, tcp }
}

async fn by_udp(address: SocketAddr, domain: &str) -> bool {
    for _ in 0..TRIES {
        let id = rand::random();
        if let Ok(Ok(true)) = timeout(PATIENCE, datagram(address, &dns::question(domain, id), id)).await {
            return true;
        }
    }
    false
}

async fn datagram(address: SocketAddr, question: &[u8], id: u16) -> io::Result<bool> {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(address).await?;
    socket.send(question).await?;
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).await?;
    Ok(dns::answers(&answer[..length], id))
}

async fn by_tcp(address: SocketAddr, domain: &str) -> bool {
    for _ in 0..TRIES {
        let id = rand::random();
        if let Ok(Ok(true)) = timeout(PATIENCE, stream(address, &dns::question(domain, id), id)).await {
            return true;
        }
    }
    false
}

async fn stream(address: SocketAddr, question: &[u8], id: u16) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), question].concat()).await?;
    let length = stream.read_u16().await?;
    let mut answer = vec![0; length.into()];
    stream.read_exact(&mut answer).await?;
    Ok(dns::answers(&answer, id))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, UdpSocket};

    use super::{by_tcp, by_udp};

    const DOMAIN: &str = "cluster.local";

    /// The question as an answer.
    fn answer(question: &[u8]) -> Vec<u8> {
        let mut answer = question.to_vec();
        answer[2] |= 0x80;
        answer
    }

    #[tokio::test]
    async fn each_way_is_asked_by_itself() {
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = udp.local_addr().unwrap();
        let serve = async {
            let mut question = [0; 512];
            // The first datagram is lost.
            udp.recv_from(&mut question).await.unwrap();
            let (length, from) = udp.recv_from(&mut question).await.unwrap();
            udp.send_to(&answer(&question[..length]), from).await.unwrap();
        };
        let (answers, ()) = tokio::join!(by_udp(address, DOMAIN), serve);
        assert!(answers);
        assert!(!by_tcp(address, DOMAIN).await, "nobody listens there by TCP");

        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let serve = async {
            let (mut stream, _) = tcp.accept().await.unwrap();
            let length = stream.read_u16().await.unwrap();
            let mut question = vec![0; length.into()];
            stream.read_exact(&mut question).await.unwrap();
            stream.write_u16(length).await.unwrap();
            stream.write_all(&answer(&question)).await.unwrap();
        };
        let (answers, ()) = tokio::join!(by_tcp(address, DOMAIN), serve);
        assert!(answers);
    }
}
