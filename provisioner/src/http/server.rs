//! Serving HTTP/1.1 to strangers: who is slow is dropped, who are too many wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::stop::GRACE;

/// How long the head of a request may take to arrive, also of the next one on an open connection: longer than ingresses
/// keep connections, so that none is closed while a request is on its way.
const HEAD_PATIENCE: Duration = Duration::from_secs(75);

/// Connections that are open at the same time.
const MAX_CONNECTIONS: usize = 1024;

/// Listens.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("failed to listen on {address}"))
}

/// Serves until `stop`, then lets open requests end.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE);
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, stream) = tokio::select! {
            () = &mut stop => break,
            (place, stream) = accepted => (place, stream),
        };
        let stream = match stream {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "failed to accept a connection");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = open.watch(connection);
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                debug!(%error, "a connection broke");
            }
        });
    }
    drop(listener);
    if timeout(GRACE, open.shutdown()).await.is_err() {
        warn!("requests were still open after {GRACE:?}");
    }
}
