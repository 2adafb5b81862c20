//! Why the metadata service does not answer: seen from one plain request, told in a sentence.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const CONNECT: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_secs(2);

/// What a request for a token comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symptom {
    /// There is no connection.
    Closed,
    /// There is a connection, and no answer on it.
    Silent,
    /// An answer, with this status.
    Answer(u16),
}

/// Asks for a token once, at each address.
pub(super) async fn look(addresses: &[SocketAddr]) -> Symptom {
    let mut seen = Symptom::Closed;
    for address in addresses {
        match ask(*address).await {
            Symptom::Closed => {}
            symptom @ Symptom::Answer(_) => return symptom,
            symptom @ Symptom::Silent => seen = symptom,
        }
    }
    seen
}

async fn ask(address: SocketAddr) -> Symptom {
    let Ok(Ok(stream)) = timeout(CONNECT, TcpStream::connect(address)).await else {
        return Symptom::Closed;
    };
    match timeout(ANSWER, status(stream)).await {
        Ok(Ok(Some(status))) => Symptom::Answer(status),
        _ => Symptom::Silent,
    }
}

async fn status(mut stream: TcpStream) -> io::Result<Option<u16>> {
    let request = "PUT /latest/api/token HTTP/1.1\r\nhost: 169.254.169.254\r\ncontent-length: 0\r\nconnection: close\r\n\
                   x-aws-ec2-metadata-token-ttl-seconds: 60\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await?;
    let status = str::from_utf8(&head)
        .ok()
        .and_then(|it| it.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok());
    Ok(status)
}

impl Symptom {
    /// What to do about it.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Closed => {
                "check that this is an EC2 instance, that its metadata option HttpEndpoint is enabled, and that no route or \
                 firewall of the image takes 169.254.169.254 away"
            }
            Self::Silent => {
                "it takes connections, but its answers get lost on the way: where the agent runs in a container or behind \
                 a bridge, set the metadata option HttpPutResponseHopLimit to 2 or more; otherwise look for a firewall"
            }
            Self::Answer(403) => "set the instance's metadata option HttpEndpoint to enabled",
            Self::Answer(429 | 503) => "it is throttled: look for what else on this machine asks it without pause",
            Self::Answer(_) => "is this an EC2 instance? It answers, but not as the metadata service of version 2",
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::{Symptom, look};

    #[test_case(Some("HTTP/1.1 200 OK\r\n\r\n") => Symptom::Answer(200); "an answer")]
    #[test_case(Some("HTTP/1.1 403 Forbidden\r\n\r\n") => Symptom::Answer(403); "disabled")]
    #[test_case(Some("SSH-2.0-OpenSSH_10") => Symptom::Silent; "something else")]
    #[test_case(Some("") => Symptom::Silent; "hanging up")]
    #[test_case(None => Symptom::Silent; "a hop limit")]
    #[tokio::test]
    async fn is_seen(answer: Option<&'static str>) -> Symptom {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 512];
            let _length = stream.read(&mut request).await.unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
        });
        look(&[address]).await
    }

    #[tokio::test]
    async fn is_a_closed_door() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(look(&[address]).await, Symptom::Closed);
    }

    #[test_case(Symptom::Closed, "HttpEndpoint"; "closed")]
    #[test_case(Symptom::Silent, "HttpPutResponseHopLimit"; "silent")]
    #[test_case(Symptom::Answer(403), "HttpEndpoint"; "disabled")]
    #[test_case(Symptom::Answer(503), "throttled"; "busy")]
    #[test_case(Symptom::Answer(429), "throttled"; "too many requests")]
    #[test_case(Symptom::Answer(404), "EC2 instance"; "another service")]
    fn has_a_remedy(symptom: Symptom, expected: &str) {
        assert!(symptom.remedy().contains(expected));
    }
}
