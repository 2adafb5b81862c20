//! Requests that nobody means well with, each a little different from every other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::aws::TOPIC;

/// The request with this number; the kinds take turns.
pub(super) fn request(number: usize) -> Vec<u8> {
    let claim = format!("/v1/workers/i-{number:017x}/claim");
    let progress = format!("/v1/workers/i-{number:017x}/progress");
    let sealed = json!({
        "sender": STANDARD.encode([1; 32]), "encapsulated": STANDARD.encode([2; 32]),
        "ciphertext": STANDARD.encode(vec![3; number % 40_000]),
    });
    match number % 20 {
        0 => post("/sns", format!("junk {number}").as_bytes()),
        1 => post(&claim, [0xff; 1000]),
        2 => post("/sns", vec![b'x'; 256 * 1024]),
        3 => post("/sns", vec![b'x'; 256 * 1024 + 1 + number]),
        4 => post(&claim, vec![b'x'; 64 * 1024 + 1]),
        5 => half(post("/sns", vec![b'x'; 100_000])),
        6 => half(post(&progress, sealed.to_string().as_bytes())),
        7 => format!("POST /{number} HTTP/1.1\r\nhost: x\r\n").into_bytes(),
        8 => post(&claim, sealed.to_string().as_bytes()),
        9 => post(&progress, sealed.to_string().as_bytes()),
        10 => post("/sns", message("SigningCertURL", &certificate(number))),
        11 => post("/sns", message("Signature", &STANDARD.encode([7; 256]))),
        12 => post("/sns", message("Timestamp", "2026-01-01T00:00:00.000Z")),
        13 => post("/sns", message("TopicArn", &format!("{TOPIC}-{number}"))),
        14 => post(&format!("/{number}/{}", "x".repeat(2000)), b""),
        15 => with_header(&"y".repeat(20_000)),
        16 => post("/sns", "[".repeat(200_000).as_bytes()),
        17 => post(
            "/sns",
            format!("{{\"Type\": \"{}\"}}", "\\u0000".repeat(30_000)).as_bytes(),
        ),
        18 => format!("{number}\u{0}\u{1}GET").repeat(100).into_bytes(),
        _ => format!("POST /sns HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n{number}")
            .into_bytes(),
    }
}

/// Whether the client hangs up in the middle of it.
pub(super) fn is_half(number: usize) -> bool {
    matches!(number % 20, 5..=7 | 19)
}

fn post(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn half(mut request: Vec<u8>) -> Vec<u8> {
    request.truncate(request.len() / 2);
    request
}

fn with_header(value: &str) -> Vec<u8> {
    format!("POST /sns HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {value}\r\n\r\n").into_bytes()
}

fn certificate(number: usize) -> String {
    format!("https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-{number}.pem")
}

/// What AWS would send but for one field, and a signature that is none.
fn message(field: &str, value: &str) -> Vec<u8> {
    let mut message: Value = json!({
        "Type": "Notification", "MessageId": "m", "TopicArn": TOPIC, "Message": "x".repeat(5_000),
        "Timestamp": Timestamp::now().to_string(), "SignatureVersion": "2", "Signature": STANDARD.encode([9; 256]),
        "SigningCertURL": "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123abcd.pem",
    });
    message[field] = value.into();
    message.to_string().into_bytes()
}
