use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use test_case::test_case;

use super::{Documented, Refusal, verify};
use crate::proof::certificates::Certificates;
use crate::proof::fixture::{self, Made};

/// Made by openssl, as AWS makes it; openssl names the algorithm of the signature `rsaEncryption`, which was changed.
const TEXT: &str = include_str!("../../../api/testdata/identity-document.rsa2048");
const PEM: &str = include_str!("../../../api/testdata/identity-document.pem");

fn openssl() -> Certificates {
    fixture::certificates("eu-central-1", PEM)
}

fn verify_text(text: &str, certificates: &Certificates) -> Result<Documented, Refusal> {
    let id = "i-0123456789abcdef0".parse().unwrap();
    verify(text, &id, "eu-central-1", certificates.of("eu-central-1"))
}

fn verify_made(made: &Made<'_>) -> Result<Documented, Refusal> {
    verify_text(&made.text(), &fixture::certificates("eu-central-1", &fixture::pem()))
}

#[test]
fn what_openssl_signed_is_believed() {
    let documented = Documented {
        account: "123456789012".to_owned(),
        pending: "2026-12-01T12:00:00Z".parse().unwrap(),
    };
    assert_eq!(verify_text(TEXT, &openssl()), Ok(documented));
}

#[test]
fn not_one_altered_byte_is_believed() {
    let certificates = openssl();
    let base64: String = TEXT.lines().collect();
    let ber = STANDARD.decode(&base64).unwrap();
    let mut altered = ber.clone();
    for at in 0..ber.len() {
        for mask in 1..=0xff {
            altered[at] ^= mask;
            let text = STANDARD.encode(&altered);
            assert!(verify_text(&text, &certificates).is_err(), "byte {at} with {mask:#x}");
            altered[at] ^= mask;
        }
    }
    assert!(verify_text(&STANDARD.encode(&altered), &certificates).is_ok());
}

#[test]
fn not_one_altered_character_is_believed() {
    let certificates = openssl();
    for at in 0..TEXT.len() {
        for other in [b'A', b'B', b'/', b'=', b' ', b'\n', b'\r', 0] {
            let mut text = TEXT.as_bytes().to_vec();
            if text[at] == other {
                continue;
            }
            text[at] = other;
            let text = String::from_utf8(text).unwrap();
            assert!(
                verify_text(&text, &certificates).is_err(),
                "character {at} as {other:#x}"
            );
        }
    }
}

#[test]
fn it_must_be_signed_for_its_region() {
    assert_eq!(verify_text(TEXT, &Certificates::default()), Err(Refusal::Stranger));
    let certificates = fixture::certificates("eu-west-1", PEM);
    assert_eq!(verify_text(TEXT, &certificates), Err(Refusal::Stranger));
}

#[test]
fn a_signer_of_the_same_name_is_not_the_same_signer() {
    let named = fixture::certificates("eu-central-1", &fixture::pem_of_another_key());
    assert_eq!(verify_text(&Made::default().text(), &named), Err(Refusal::Altered));
}

#[test]
fn what_is_signed_here_is_believed_whatever_is_embedded() {
    assert!(verify_made(&Made::default()).is_ok());
    let embedded = Made {
        embeds: Some(PEM),
        ..Made::default()
    };
    assert!(verify_made(&embedded).is_ok());
}

#[test_case("i-0123456789abcdef0", "i-0123456789abcdef1", "instance"; "another instance")]
#[test_case("eu-central-1\"", "eu-west-1\"", "region"; "another region")]
#[test_case("123456789012", "1234", "account"; "no account")]
#[test_case("2026-12-01T12:00:00Z", "yesterday", "time"; "no time")]
fn what_is_signed_may_still_not_fit(right: &str, wrong: &str, what: &'static str) {
    let content = fixture::content("i-0123456789abcdef0");
    assert!(content.contains(right));
    let made = Made {
        content: &content.replace(right, wrong),
        ..Made::default()
    };
    assert!(matches!(verify_made(&made), Err(Refusal::Another { what: it, .. }) if it == what));
}

#[test]
fn the_content_is_read_from_inside_the_signature_only() {
    let made = Made {
        content: "{}",
        ..Made::default()
    };
    assert!(matches!(verify_made(&made), Err(Refusal::Malformed(_))));
    let swapped = Made {
        signs: Some(&fixture::content("i-0123456789abcdef1")),
        ..Made::default()
    };
    assert_eq!(
        verify_made(&swapped),
        Err(Refusal::Altered),
        "the digest is of something else"
    );
}
