//! Signed data of PKCS#7 ([RFC 2315](https://www.rfc-editor.org/rfc/rfc2315), and as CMS
//! [RFC 5652](https://www.rfc-editor.org/rfc/rfc5652)), of the one kind that AWS makes: the content is inside, there is
//! one signer, and he signed with RSA and SHA-256 over attributes that name the content's digest.
//!
//! Read so that no byte is free: what the signature does not cover has one possible value, or must fit the signer's
//! certificate. Embedded certificates are skipped, for whoever made the message chose them.

use asn1_rs::{Oid, oid};

use super::Malformed;
use super::ber::{
    CONTEXT_0, INTEGER, NULL, OBJECT_IDENTIFIER, OCTET_STRING, Object, Objects, SEGMENTED_OCTET_STRING, SEQUENCE, SET,
};

const SIGNED_DATA: Oid<'_> = oid!(1.2.840.113549.1.7.2);
const DATA: Oid<'_> = oid!(1.2.840.113549.1.7.1);
const CONTENT_TYPE: Oid<'_> = oid!(1.2.840.113549.1.9.3);
const MESSAGE_DIGEST: Oid<'_> = oid!(1.2.840.113549.1.9.4);
const SHA_256: Oid<'_> = oid!(2.16.840.1.101.3.4.2.1);
const RSA_WITH_SHA_256: Oid<'_> = oid!(1.2.840.113549.1.1.11);

/// The version of signed data, and of a signer who is named by issuer and serial number.
const VERSION_1: &[u8] = &[1];

/// A document and all that is needed to verify its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What was signed, its segments joined. Nothing else may be read as the document.
    pub content: Vec<u8>,
    /// The digest of the content that the signer signed, SHA-256.
    pub digest: [u8; 32],
    /// The signed attributes in the form that the signature is made over.
    pub attributes: Vec<u8>,
    /// The signature over the attributes: RSASSA-PKCS1-v1_5 with SHA-256.
    pub signature: Vec<u8>,
    /// Whose certificate verifies it.
    pub signer: SignerId,
}

/// How a signer's certificate is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignerId {
    /// The issuer's name, DER.
    pub issuer: Vec<u8>,
    /// The serial number: the content of a DER INTEGER.
    pub serial: Vec<u8>,
}

pub(super) fn parse(ber: &[u8]) -> Result<Signed, Malformed> {
    let mut message = Objects::new(ber);
    let mut info = message.next(SEQUENCE)?.inside();
    message.end()?;
    identifier(&mut info, &SIGNED_DATA)?;
    let data = info.next(CONTEXT_0)?.only(SEQUENCE)?;
    info.end()?;

    let mut data = data.inside();
    version(&mut data)?;
    algorithm(data.next(SET)?.only(SEQUENCE)?, &SHA_256)?;
    let content = content(data.next(SEQUENCE)?)?;
    data.next_if(CONTEXT_0)?;
    let signers = data.next(SET)?;
    data.end()?;

    let mut signers = signers.inside();
    if signers.is_empty() {
        return Err(Malformed("nobody has signed it"));
    }
    let signer = signers.next(SEQUENCE)?;
    if !signers.is_empty() {
        return Err(Malformed("more than one has signed it"));
    }
    signed(content, signer)
}

fn content(info: Object<'_>) -> Result<Vec<u8>, Malformed> {
    let mut info = info.inside();
    identifier(&mut info, &DATA)?;
    if info.is_empty() {
        return Err(Malformed("the content is not inside"));
    }
    let mut wrapped = info.next(CONTEXT_0)?.inside();
    info.end()?;
    let octets = wrapped.any()?;
    wrapped.end()?;
    if octets.is(OCTET_STRING) {
        return Ok(octets.content.to_vec());
    }
    if !octets.is(SEGMENTED_OCTET_STRING) {
        return Err(Malformed("the content is no string of octets"));
    }
    let mut joined = Vec::new();
    let mut segments = octets.inside();
    while !segments.is_empty() {
        joined.extend_from_slice(segments.next(OCTET_STRING)?.content);
    }
    Ok(joined)
}

fn signed(content: Vec<u8>, signer: Object<'_>) -> Result<Signed, Malformed> {
    let mut signer = signer.inside();
    version(&mut signer)?;
    let mut name = signer.next(SEQUENCE)?.inside();
    let id = SignerId {
        issuer: name.next(SEQUENCE)?.definite()?.raw.to_vec(),
        serial: name.next(INTEGER)?.content.to_vec(),
    };
    name.end()?;
    algorithm(signer.next(SEQUENCE)?, &SHA_256)?;
    let attributes = signer
        .next_if(CONTEXT_0)?
        .ok_or(Malformed("it has no signed attributes"))?
        .definite()?;
    algorithm(signer.next(SEQUENCE)?, &RSA_WITH_SHA_256)?;
    let signature = signer.next(OCTET_STRING)?.content.to_vec();
    signer.end()?;
    Ok(Signed {
        content,
        digest: digest(attributes.inside())?,
        attributes: as_signed(attributes),
        signature,
        signer: id,
    })
}

/// The digest that the attributes name, which must also say that it is of plain data.
fn digest(mut attributes: Objects<'_>) -> Result<[u8; 32], Malformed> {
    let mut kinds = 0;
    let mut digests = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.next(SEQUENCE)?.inside();
        let kind = attribute.next(OBJECT_IDENTIFIER)?.content;
        let values = attribute.next(SET)?;
        attribute.end()?;
        if kind == CONTENT_TYPE.as_bytes() {
            kinds += 1;
            if values.only(OBJECT_IDENTIFIER)?.content != DATA.as_bytes() {
                return Err(Malformed("what was signed is not plain data"));
            }
        } else if kind == MESSAGE_DIGEST.as_bytes() {
            digests.push(values.only(OCTET_STRING)?.content);
        }
    }
    match (kinds, digests.as_slice()) {
        (1, [digest]) => (*digest)
            .try_into()
            .map_err(|_| Malformed("the digest is not of SHA-256")),
        _ => Err(Malformed("the signed attributes do not name one digest of plain data")),
    }
}

/// Signed is the set of attributes with its own tag, which in the message another one takes the place of.
fn as_signed(attributes: Object<'_>) -> Vec<u8> {
    let mut raw = attributes.raw.to_vec();
    if let Some(tag) = raw.first_mut() {
        *tag = SET;
    }
    raw
}

fn version(objects: &mut Objects<'_>) -> Result<(), Malformed> {
    if objects.next(INTEGER)?.content == VERSION_1 {
        Ok(())
    } else {
        Err(Malformed("it is of another version"))
    }
}

fn identifier(objects: &mut Objects<'_>, expected: &Oid<'_>) -> Result<(), Malformed> {
    if objects.next(OBJECT_IDENTIFIER)?.content == expected.as_bytes() {
        Ok(())
    } else {
        Err(Malformed("it is no signed data"))
    }
}

/// One form of each name, though others mean the same: that of AWS.
fn algorithm(object: Object<'_>, expected: &Oid<'_>) -> Result<(), Malformed> {
    let mut inside = object.inside();
    let name = inside.next(OBJECT_IDENTIFIER)?.content;
    let parameters = inside.next_if(NULL)?;
    inside.end()?;
    if parameters.is_none_or(|it| it.content.is_empty()) && name == expected.as_bytes() {
        Ok(())
    } else {
        Err(Malformed("it is not signed with RSA and SHA-256"))
    }
}
