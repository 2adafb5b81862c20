//! Serves routes on one address, with or without TLS, behind a door that a test can close and open.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Extension;
use axum::Router;
use axum::extract::ConnectInfo;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// How long a client may take for its TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How a server answers: a closed one has no socket at all, so connections are refused.
#[derive(Debug, Clone)]
enum Door {
    Closed,
    Plain,
    Tls(Arc<ServerConfig>),
}

/// A server that runs until this value is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    door: watch::Sender<Door>,
    opened: watch::Receiver<bool>,
    behind: Door,
    task: AbortHandle,
}

impl Server {
    /// Serves over plain HTTP; port 0 becomes a free one.
    pub async fn plain(address: SocketAddr, routes: Router) -> anyhow::Result<Self> {
        Self::start(address, routes, Door::Plain).await
    }

    pub async fn tls(address: SocketAddr, routes: Router, identity: Arc<ServerConfig>) -> anyhow::Result<Self> {
        Self::start(address, routes, Door::Tls(identity)).await
    }

    async fn start(address: SocketAddr, routes: Router, behind: Door) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("failed to listen on {address}"))?;
        let address = listener
            .local_addr()
            .context("failed to read the address of a listener")?;
        let (door, doors) = watch::channel(behind.clone());
        let (open, opened) = watch::channel(true);
        let task = tokio::spawn(keep_door(listener, address, routes, doors, open)).abort_handle();
        Ok(Self {
            address,
            door,
            opened,
            behind,
            task,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections and refuses new ones; returns when that is so.
    pub async fn close(&self) {
        self.turn(Door::Closed, false).await;
    }

    /// Listens again; returns when connections succeed.
    pub async fn open(&self) {
        self.turn(self.behind.clone(), true).await;
    }

    /// Shows another certificate from now on, or the first one with `None`.
    pub async fn present(&self, identity: Option<Arc<ServerConfig>>) {
        self.close().await;
        self.turn(identity.map_or_else(|| self.behind.clone(), Door::Tls), true)
            .await;
    }

    async fn turn(&self, door: Door, open: bool) {
        self.door.send_replace(door);
        // An error means that the task is gone with its runtime, and the door with it.
        let _ = self.opened.clone().wait_for(|is_open| *is_open == open).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep_door(
    first: TcpListener,
    address: SocketAddr,
    routes: Router,
    mut doors: watch::Receiver<Door>,
    open: watch::Sender<bool>,
) {
    let mut listener = Some(first);
    loop {
        let door = doors.borrow_and_update().clone();
        if matches!(door, Door::Closed) {
            listener = None;
            open.send_replace(false);
        } else {
            let ready = match listener.take() {
                Some(ready) => ready,
                None => bind_again(address).await,
            };
            open.send_replace(true);
            // Dropping the set of connections cuts them all.
            tokio::select! {
                () = accept(&ready, &door, &routes) => {}
                changed = doors.changed() => if changed.is_err() { return },
            }
            listener = Some(ready);
            continue;
        }
        if doors.changed().await.is_err() {
            return;
        }
    }
}

async fn bind_again(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => tracing::warn!("failed to listen on {address} again: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn accept(listener: &TcpListener, door: &Door, routes: &Router) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            continue;
        };
        connections.spawn(converse(stream, peer, door.clone(), routes.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, peer: SocketAddr, door: Door, routes: Router) {
    let result = match door {
        Door::Closed => return,
        Door::Plain => serve(stream, peer, routes).await,
        Door::Tls(identity) => match secure(stream, identity).await {
            Ok(stream) => serve(stream, peer, routes).await,
            Err(error) => Err(error),
        },
    };
    if let Err(error) = result {
        tracing::debug!(%peer, "connection ended: {error}");
    }
}

async fn secure(stream: TcpStream, identity: Arc<ServerConfig>) -> io::Result<impl AsyncRead + AsyncWrite + Unpin> {
    tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(identity).accept(stream)).await?
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    routes: Router,
) -> io::Result<()> {
    let service = TowerToHyperService::new(routes.layer(Extension(ConnectInfo(peer))).into_service());
    Builder::new(TokioExecutor::new())
        .http1_only()
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
