//! Serving HTTP/1.1 to strangers: who is slow is cut off, and sooner if others want in.

mod crowd;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use dynk8s_api::problem::Reason;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use self::crowd::Crowd;
pub(super) use self::crowd::Guest;
use super::problem::Refusal;
use crate::stop::GRACE;

/// How long the head of a request may take to arrive, also of the next one on an open connection: longer than ingresses
/// keep connections, so that none is closed while a request is on its way.
const HEAD_PATIENCE: Duration = Duration::from_secs(75);

/// How much of a head is read, and of a body at once. Ingresses add their headers to those of AWS.
const BUFFER: usize = 16 * 1024;

/// How long a request may take, from its head to its answer: a body may take ten seconds, and a claim twenty more.
const REQUEST_PATIENCE: Duration = Duration::from_secs(35);

/// Connections that are open at the same time.
const MAX_CONNECTIONS: usize = 1024;

/// Listens.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("failed to listen on {address}"))
}

/// Serves until `stop`, then lets open requests end.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    serve_so_many(MAX_CONNECTIONS, listener, router, stop).await;
}

async fn serve_so_many(size: usize, listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(BUFFER);
    let open = GracefulShutdown::new();
    let crowd = Crowd::new(size);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = async {
            let (stream, _) = listener.accept().await?;
            Ok::<_, std::io::Error>((crowd.enter().await, stream))
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let (place, stream) = match accepted {
            Ok((Some(place), stream)) => (place, stream),
            Ok((None, _)) => break,
            Err(error) => {
                warn!(%error, "failed to accept a connection");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let attended = middleware::from_fn_with_state(Arc::clone(&place.guest), attend);
        let service = TowerToHyperService::new(router.clone().layer(attended));
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = open.watch(connection);
        tokio::spawn(async move {
            tokio::select! {
                () = place.guest.sent_away() => debug!("a connection made room for another"),
                ended = connection => if let Err(error) = ended {
                    debug!(%error, "a connection broke");
                },
            }
            drop(place);
        });
    }
    drop(listener);
    if timeout(GRACE, open.shutdown()).await.is_err() {
        warn!("requests were still open after {GRACE:?}");
    }
}

/// Knows of a connection whether it waits for us or we for it.
async fn attend(State(guest): State<Arc<Guest>>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(Arc::clone(&guest));
    let answered = timeout(REQUEST_PATIENCE, next.run(request)).await;
    guest.waits();
    answered.unwrap_or_else(|_| Refusal::new(Reason::Unavailable, "the request took too long").into_response())
}
