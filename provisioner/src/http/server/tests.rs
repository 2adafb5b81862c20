//! Clients that are slow, large or many, on real connections and in a time that passes by itself.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use test_case::test_case;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::serve_so_many;
use crate::http::body;

const WHOLE: &str = "POST /read HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
const HALF_HEAD: &str = "POST /read HTTP/1.1\r\nhost: x\r\n";
const HALF_BODY: &str = "POST /read HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\nh";
const HALF_LARGE_BODY: &str = "POST /read HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\nh";
const HALF_CHUNKS: &str = "POST /read HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n";

async fn read(request: Request) -> Response {
    body::read(request).await.map(|it| it.len().to_string()).into_response()
}

/// A server with room for so many, and the permits that `/work` waits for.
async fn start(size: usize) -> (SocketAddr, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&permits);
    let work = async move |request| {
        let answer = read(request).await;
        waits.acquire().await.unwrap().forget();
        answer
    };
    let router = Router::new().route("/read", post(read)).route("/work", post(work));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_so_many(size, listener, router, std::future::pending()));
    (address, permits)
}

async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that has heard enough hangs up.
    let _ = stream.write_all(text.as_bytes()).await;
    stream
}

/// All that comes until the connection is closed.
async fn heard(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

async fn answer(address: SocketAddr, text: &str) -> String {
    heard(send(address, text).await).await
}

#[test_case("", 75, ""; "nothing")]
#[test_case(HALF_HEAD, 75, ""; "half a head")]
#[test_case(HALF_BODY, 10, "HTTP/1.1 408"; "half a body")]
#[tokio::test(start_paused = true)]
async fn who_is_slow_is_cut_off(text: &str, seconds: u64, expected: &str) {
    let (address, _) = start(8).await;
    let begun = Instant::now();
    let answer = answer(address, text).await;
    assert!(answer.starts_with(expected), "{answer}");
    let range = Duration::from_secs(seconds)..Duration::from_secs(seconds + 1);
    assert!(range.contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_has_a_deadline() {
    let (address, _) = start(8).await;
    let answer = answer(address, &WHOLE.replace("/read", "/work")).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[test_case(format!("x: {}\r\n", "a".repeat(8_000)), "HTTP/1.1 200"; "a large header")]
#[test_case(format!("x: {}\r\n", "a".repeat(20_000)), "HTTP/1.1 431"; "too large a header")]
#[test_case("x: y\r\n".repeat(90), "HTTP/1.1 200"; "many headers")]
#[test_case("x: y\r\n".repeat(200), "HTTP/1.1 431"; "too many headers")]
#[tokio::test]
async fn heads_are_bounded(headers: String, expected: &str) {
    let (address, _) = start(8).await;
    let answer = answer(
        address,
        &WHOLE.replacen("host: x\r\n", &format!("host: x\r\n{headers}"), 1),
    )
    .await;
    assert!(answer.starts_with(expected), "{answer}");
}

#[test_case(""; "who say nothing")]
#[test_case(HALF_HEAD; "who send half a head")]
#[test_case(HALF_BODY; "who send half a body")]
#[test_case(HALF_CHUNKS; "who send chunks without an end")]
#[tokio::test(start_paused = true)]
async fn the_many_keep_nobody_out(text: &str) {
    let (address, _) = start(4).await;
    let mut slow = Vec::new();
    for _ in 0..12 {
        slow.push(send(address, text).await);
    }
    let begun = Instant::now();
    for _ in 0..3 {
        let answer = answer(address, WHOLE).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(heard(slow.remove(0)).await, "", "the first of them made room");
}

#[tokio::test(start_paused = true)]
async fn who_is_being_served_is_not_sent_away() {
    let (address, permits) = start(1).await;
    let first = send(address, &WHOLE.replace("/read", "/work")).await;
    let second = tokio::spawn(answer(address, WHOLE));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!second.is_finished(), "there is no room for it");
    permits.add_permits(1);
    assert!(heard(first).await.starts_with("HTTP/1.1 200"));
    assert!(second.await.unwrap().starts_with("HTTP/1.1 200"));
}

#[test_case(HALF_LARGE_BODY; "that say so")]
#[test_case(HALF_CHUNKS; "that may become large")]
#[tokio::test(start_paused = true)]
async fn large_bodies_are_few(text: &str) {
    let (address, _) = start(100).await;
    let mut slow = Vec::new();
    for _ in 0..32 {
        slow.push(send(address, text).await);
    }
    let large = HALF_LARGE_BODY.replace("host: x\r\n", "host: x\r\nconnection: close\r\n") + &"h".repeat(19_999);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = answer(address, &large).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(
        answer(address, WHOLE).await.starts_with("HTTP/1.1 200"),
        "a small one has room"
    );
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(
        answer(address, &large).await.starts_with("HTTP/1.1 200"),
        "the slow were cut off"
    );
}
