//! The program as a child, with an API server of its own.

use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::api_server;

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Provisioner {
    process: Child,
    pub(super) public: SocketAddr,
    private: SocketAddr,
    _folder: TempDir,
}

impl Provisioner {
    /// Started, and ready.
    pub(super) async fn start(half: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let api_server = api_server::start().await;
        let (public, private) = (free_address().await, free_address().await);
        std::fs::write(at("kubeconfig"), kubeconfig(api_server)).unwrap();
        std::fs::write(at("provisioner.toml"), configuration(public, private)).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_dynk8s-provisioner"))
            .arg(half)
            .arg("--config")
            .arg(at("provisioner.toml"))
            .env("KUBECONFIG", at("kubeconfig"))
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let provisioner = Self {
            process,
            public,
            private,
            _folder: folder,
        };
        let ready = async {
            while provisioner
                .readiness()
                .await
                .is_none_or(|it| !it.starts_with("HTTP/1.1 200"))
            {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, ready).await.unwrap();
        provisioner
    }

    async fn readiness(&self) -> Option<String> {
        let mut stream = TcpStream::connect(self.private).await.ok()?;
        let request = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer)
    }

    /// A claim that is on its way.
    pub(super) async fn begin_claim(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.public).await.unwrap();
        let head = "POST /v1/workers/i-0123456789abcdef0/claim HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{";
        stream.write_all(head.as_bytes()).await.unwrap();
        // The head has arrived once the answer to a later request is there.
        self.readiness().await.unwrap();
        stream
    }

    pub(super) fn signal(&self, signal: Signal) {
        let id = self.process.id().unwrap();
        kill(Pid::from_raw(id.try_into().unwrap()), signal).unwrap();
    }

    pub(super) async fn end(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.process.wait()).await.unwrap().unwrap()
    }

    pub(super) async fn until_not_ready(&self) -> String {
        let refused = async {
            loop {
                let answer = self.readiness().await.expect("it answers as long as it lives");
                if answer.starts_with("HTTP/1.1 503") {
                    return answer;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(2), refused).await.unwrap()
    }
}

/// Nobody is promised the port, but the kernel does not give it to another so soon.
async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

fn kubeconfig(server: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\nclusters: [{{name: it, cluster: {{server: 'http://{server}'}}}}]\n\
         users: [{{name: it, user: {{}}}}]\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n"
    )
}

fn configuration(public: SocketAddr, private: SocketAddr) -> String {
    include_str!("../../testdata/provisioner.toml")
        .replace("0.0.0.0:8080", &public.to_string())
        .replace("0.0.0.0:8081", &private.to_string())
}
