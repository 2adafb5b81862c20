//! The fixture was made by openssl, as AWS makes it; the malformed ones are put together here.

use test_case::test_case;

use super::{Document, MAX_TEXT, Malformed, Signed, pkcs7};

const TEXT: &str = include_str!("../../testdata/identity-document.rsa2048");
const CONTENT: &str = include_str!("../../testdata/identity-document.json");

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const RSA_WITH_SHA_256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
const SHA_256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA_1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];

/// An object of definite length.
fn object(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[identifier, 0x82], &length[..], &content].concat()
}

/// An object of indefinite length.
fn open(identifier: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[identifier, 0x80], &parts.concat()[..], &[0, 0]].concat()
}

fn algorithm(name: &[u8]) -> Vec<u8> {
    object(0x30, &[&object(0x06, &[name]), &[0x05, 0x00]])
}

fn attribute(name: &[u8], value: &[u8]) -> Vec<u8> {
    object(0x30, &[&object(0x06, &[name]), &object(0x31, &[value])])
}

/// A message in its parts, well-formed unless a test changes one.
struct Parts {
    kind: Vec<u8>,
    version: Vec<u8>,
    algorithms: Vec<u8>,
    content: Vec<u8>,
    certificates: Vec<u8>,
    signer: Vec<u8>,
    signers: usize,
    attributes: Vec<u8>,
    signature_algorithm: Vec<u8>,
    unsigned: Vec<u8>,
    behind: Vec<u8>,
}

impl Parts {
    fn new() -> Self {
        Self {
            kind: object(0x06, &[SIGNED_DATA]),
            version: object(0x02, &[&[1]]),
            algorithms: object(0x31, &[&algorithm(SHA_256)]),
            content: open(
                0xa0,
                &[&open(0x24, &[&object(0x04, &[b"one "]), &object(0x04, &[b"two"])])],
            ),
            certificates: Vec::new(),
            signer: object(0x30, &[&object(0x30, &[b""]), &object(0x02, &[&[7]])]),
            signers: 1,
            attributes: object(
                0xa0,
                &[
                    &attribute(CONTENT_TYPE, &object(0x06, &[DATA])),
                    &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]])),
                ],
            ),
            signature_algorithm: algorithm(RSA_WITH_SHA_256),
            unsigned: Vec::new(),
            behind: Vec::new(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let signer = object(
            0x30,
            &[
                &object(0x02, &[&[1]]),
                &self.signer,
                &algorithm(SHA_256),
                &self.attributes,
                &self.signature_algorithm,
                &object(0x04, &[&[8; 256]]),
                &self.unsigned,
            ],
        );
        let data = open(
            0x30,
            &[
                &self.version,
                &self.algorithms,
                &open(0x30, &[&object(0x06, &[DATA]), &self.content]),
                &self.certificates,
                &object(0x31, &[&signer.repeat(self.signers)]),
            ],
        );
        [open(0x30, &[&self.kind, &open(0xa0, &[&data])]), self.behind.clone()].concat()
    }

    fn parse(&self) -> Result<Signed, Malformed> {
        pkcs7::parse(&self.encode())
    }
}

fn with(change: impl FnOnce(&mut Parts)) -> Result<Signed, Malformed> {
    let mut parts = Parts::new();
    change(&mut parts);
    parts.parse()
}

#[test]
fn the_content_is_what_was_signed() {
    let signed = Signed::parse(TEXT).unwrap();
    assert_eq!(std::str::from_utf8(&signed.content).unwrap(), CONTENT);
    assert_eq!((signed.signature.len(), signed.attributes[0]), (256, 0x31));
    let document = Document::parse(&signed.content).unwrap();
    assert_eq!(
        (document.account_id.as_str(), document.instance_id.as_str()),
        ("123456789012", "i-0123456789abcdef0")
    );
    assert_eq!(
        (document.region.as_str(), document.pending_time.as_str()),
        ("eu-central-1", "2026-12-01T12:00:00Z")
    );
}

#[test]
fn segments_are_joined() {
    let signed = Parts::new().parse().unwrap();
    assert_eq!((signed.content.as_slice(), signed.digest), (&b"one two"[..], [9; 32]));
    assert_eq!(signed.signer.serial, [7]);
}

#[test]
fn definite_lengths_will_do() {
    let whole = object(0xa0, &[&object(0x04, &[b"whole"])]);
    assert_eq!(with(|it| it.content = whole).unwrap().content, b"whole");
    let one = object(0xa0, &[&object(0x24, &[&object(0x04, &[b"one"])])]);
    assert_eq!(with(|it| it.content = one).unwrap().content, b"one");
}

#[test]
fn embedded_certificates_are_skipped() {
    let bare = Parts::new().parse().unwrap();
    assert_eq!(
        with(|it| it.certificates = open(0xa0, &[&object(0x30, &[b"any"])])),
        Ok(bare)
    );
}

#[test_case(|it| it.signers = 0; "no signer")]
#[test_case(|it| it.signers = 2; "two signers")]
#[test_case(|it| it.content = Vec::new(); "content that is elsewhere")]
#[test_case(|it| it.content = open(0xa0, &[]); "content that is not there")]
#[test_case(|it| it.content = object(0xa0, &[&object(0x0c, &[b"one"])]); "content that is text")]
#[test_case(|it| it.content = object(0xa0, &[&object(0x04, &[b"one"]), &object(0x04, &[b"two"])]); "two contents")]
#[test_case(|it| it.content = open(0xa0, &[&open(0x24, &[&open(0x24, &[&object(0x04, &[b"one"])])])]); "segments in segments")]
#[test_case(|it| it.behind = vec![0]; "a byte behind")]
#[test_case(|it| it.behind = it.encode(); "another message behind")]
#[test_case(|it| it.kind = object(0x06, &[DATA]); "no signed data")]
#[test_case(|it| it.version = object(0x02, &[&[3]]); "another version")]
#[test_case(|it| it.algorithms = object(0x31, &[]); "no digest algorithm")]
#[test_case(|it| it.algorithms = object(0x31, &[&algorithm(SHA_1)]); "SHA-1")]
#[test_case(|it| it.algorithms = object(0x31, &[&algorithm(SHA_256), &algorithm(SHA_1)]); "SHA-1 as well")]
#[test_case(|it| it.signature_algorithm = algorithm(SHA_1); "another algorithm of the signature")]
#[test_case(|it| it.signature_algorithm = object(0x30, &[&object(0x06, &[RSA_WITH_SHA_256]), &object(0x05, &[b"x"])]); "parameters")]
#[test_case(|it| it.signature_algorithm = algorithm(RSA); "the other name of the algorithm")]
#[test_case(|it| it.certificates = open(0xa1, &[]); "a list of revoked certificates")]
#[test_case(|it| it.unsigned = open(0xa1, &[]); "unsigned attributes")]
#[test_case(|it| it.signer = object(0x80, &[&[7]]); "a signer who is named by his key")]
#[test_case(|it| it.attributes = Vec::new(); "no signed attributes")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[DATA]))]); "no digest")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]]))]); "no content type")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[SIGNED_DATA])), &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]]))]); "another content type")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[DATA])), &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 20]]))]); "a short digest")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[DATA])), &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]])).repeat(2)]); "two digests")]
#[test_case(|it| it.attributes = object(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[DATA])), &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]]).repeat(2))]); "two values of one digest")]
#[test_case(|it| it.attributes = open(0xa0, &[&attribute(CONTENT_TYPE, &object(0x06, &[DATA])), &attribute(MESSAGE_DIGEST, &object(0x04, &[&[9; 32]]))]); "attributes that are not DER")]
fn refuses(change: fn(&mut Parts)) {
    assert!(Parts::new().parse().is_ok());
    assert!(with(change).is_err());
}

#[test]
fn refuses_what_is_cut_off_anywhere() {
    let whole = Parts::new().encode();
    for length in 0..whole.len() {
        assert!(pkcs7::parse(&whole[..length]).is_err(), "{length}");
    }
}

#[test_case(&b"\x30\x80".repeat(4000); "nested without an end")]
#[test_case(&[b"\x30\x80".repeat(2000), b"\x00\x00".repeat(2000)].concat(); "nested too deep")]
#[test_case(b"\x30\x84\xff\xff\xff\xff"; "a length beyond all bounds")]
#[test_case(b"\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff"; "a length that no machine can count")]
#[test_case(b"\x3f\xff\xff\xff\xff\xff\xff\xff\x7f\x00"; "a tag beyond all bounds")]
#[test_case(b"\x30\xff\x00"; "a reserved length")]
#[test_case(&[]; "nothing")]
fn refuses_what_would_make_a_reader_fall(ber: &[u8]) {
    assert!(pkcs7::parse(ber).is_err());
}

#[test_case("\n" => true; "a newline at the end")]
#[test_case("\r\n" => false; "a return")]
#[test_case(" " => false; "a space")]
#[test_case("=" => false; "more padding")]
#[test_case("MIAG" => false; "more base64")]
fn the_text_is_base64_in_lines(behind: &str) -> bool {
    Signed::parse(&format!("{TEXT}{behind}")).is_ok()
}

#[test]
fn too_long_a_text_is_not_read() {
    assert_eq!(
        Signed::parse(&"\n".repeat(MAX_TEXT + 1)),
        Err(Malformed("it is too long"))
    );
}

#[test_case("\"instanceId\" : \"i-0123456789abcdef0\"", "\"instanceId\" : \"i-x\""; "no instance id")]
#[test_case("\"region\" : ", "\"regions\" : "; "no region")]
#[test_case("\"region\" : ", "\"region\" : \"eu-west-1\", \"region\" : "; "two regions")]
#[test_case("\"pendingTime\" : \"2026-12-01T12:00:00Z\"", "\"pendingTime\" : 1"; "a time that is none")]
#[test_case("{", "[{"; "no object")]
#[test_case("}", "}}"; "something behind")]
fn a_content_of_another_form_is_no_document(right: &str, wrong: &str) {
    assert!(CONTENT.contains(right));
    assert!(Document::parse(CONTENT.replacen(right, wrong, 1).as_bytes()).is_err());
}
