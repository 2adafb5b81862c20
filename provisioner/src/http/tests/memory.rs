//! Ten thousand hostile requests leave nothing behind in memory. The server is this very test in another process, so that
//! the memory is its own.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::hostile;
use super::place::Place;

const NAME: &str = "http::tests::memory::hostile_requests_leave_nothing_behind";
const IS_SERVER: &str = "DYNK8S_TEST_IS_SERVER";
const AT_ONCE: usize = 16;
const WARM_UP: usize = 1_000;
const REQUESTS: usize = 10_000;
const MAX_GROWTH_KIB: u64 = 5 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_requests_leave_nothing_behind() {
    if std::env::var_os(IS_SERVER).is_some() {
        return be_the_server().await;
    }
    let (server, address, _output) = start().await;
    send(address, 0..WARM_UP).await;
    let before = resident_kib(&server);
    send(address, WARM_UP..WARM_UP + REQUESTS).await;
    let after = resident_kib(&server);
    assert!(
        after <= before + MAX_GROWTH_KIB,
        "resident before: {before} KiB, after: {after} KiB"
    );
    let answer = exchange(address, 0).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "it still serves: {answer}");
}

/// Serves until nobody holds the other end of its standard input.
async fn be_the_server() {
    let place = Place::start().await;
    let line = format!("\nserving {}", place.url("").trim_start_matches("http://"));
    writeln!(std::io::stdout(), "{line}").unwrap();
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    let _ = end.await;
}

/// The process, where it serves, and its output, which must be kept for it to go on.
async fn start() -> (Child, SocketAddr, Lines<BufReader<ChildStdout>>) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(IS_SERVER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(address) = line.strip_prefix("serving ") {
            return (server, address.parse().unwrap(), lines);
        }
    }
    panic!("the server ended before it served");
}

fn resident_kib(server: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id().unwrap())).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn send(address: SocketAddr, numbers: std::ops::Range<usize>) {
    let next = Arc::new(AtomicUsize::new(numbers.start));
    let mut clients = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (next, end) = (Arc::clone(&next), numbers.end);
        clients.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= end {
                    return;
                }
                let answer = exchange(address, number).await;
                let refused =
                    answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 503");
                assert!(refused, "request {number} got {answer}");
            }
        });
    }
    clients.join_all().await;
}

/// Sends all that the server takes, and hears all that it says.
async fn exchange(address: SocketAddr, number: usize) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    let talk = async {
        // Whoever says too much is cut off.
        let _ = stream.write_all(&hostile::request(number)).await;
        if hostile::is_half(number) {
            let _ = stream.shutdown().await;
        }
        let _ = stream.read_to_end(&mut answer).await;
    };
    timeout(Duration::from_secs(20), talk).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
