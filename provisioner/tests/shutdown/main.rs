//! The real program, asked to stop.

#[cfg(test)]
mod api_server;
#[cfg(test)]
mod provisioner;

use std::time::Duration;

use nix::sys::signal::Signal;
use test_case::test_case;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use self::provisioner::Provisioner;

#[test_case("serve", Signal::SIGTERM)]
#[test_case("serve", Signal::SIGINT)]
#[test_case("reconcile", Signal::SIGTERM)]
#[test_case("run", Signal::SIGTERM)]
#[tokio::test]
async fn one_that_has_nothing_to_do_ends_at_once_and_well(half: &str, signal: Signal) {
    let mut provisioner = Provisioner::start(half).await;
    provisioner.signal(signal);
    assert!(provisioner.end().await.success());
}

#[tokio::test]
async fn a_request_that_was_begun_is_answered_and_no_other_is_let_in() {
    let mut provisioner = Provisioner::start("serve").await;
    let mut claim = provisioner.begin_claim().await;
    provisioner.signal(Signal::SIGTERM);
    let answer = provisioner.until_not_ready().await;
    assert!(answer.ends_with("asked to stop\n"), "{answer}");
    // It says so first and closes the door then.
    let closed = async {
        while TcpStream::connect(provisioner.public).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let closed = timeout(Duration::from_secs(5), closed).await;
    assert!(closed.is_ok(), "others are still let in");
    claim.write_all(b"}").await.unwrap();
    let mut answer = String::new();
    claim.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("urn:dynk8s:"), "{answer}");
    assert!(provisioner.end().await.success());
}

#[tokio::test]
async fn whoever_asks_twice_does_not_wait() {
    let mut provisioner = Provisioner::start("serve").await;
    let _claim = provisioner.begin_claim().await;
    provisioner.signal(Signal::SIGTERM);
    provisioner.until_not_ready().await;
    provisioner.signal(Signal::SIGTERM);
    assert_eq!(provisioner.end().await.code(), Some(1));
}
