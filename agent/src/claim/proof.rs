//! The proof: a `GetCallerIdentity` request, signed but never sent from here.

use std::time::SystemTime;

use aws_credential_types::Credentials as AwsCredentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SigningInstructions, SigningSettings, sign as sign_request,
};
use aws_sigv4::sign::v4;
use dynk8s_api::binding::{
    AUDIENCE_HEADER, BINDING_HEADER, STS_BODY, STS_CONTENT_TYPE, STS_METHOD, STS_SIGNED_HEADERS, sts_host,
};
use dynk8s_api::claim::StsProof;
use dynk8s_api::{PublicKey, Secret};
use jiff::Timestamp;

use crate::facts::Credentials;

/// Why no proof could be made. What the signer says is not passed on: it may quote what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the instance's credentials are not of the form that can be signed with")]
pub(crate) struct Unsignable;

/// Signs exactly the headers of the protocol, with Signature Version 4.
pub(super) fn sign(
    credentials: &Credentials,
    region: &str,
    audience: &PublicKey,
    binding: &str,
    now: Timestamp,
) -> Result<StsProof, Unsignable> {
    let instructions = instructions(credentials, region, audience, binding, now).ok_or(Unsignable)?;
    let header = |name: &str| {
        instructions
            .headers()
            .find(|(it, _)| it.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    };
    let date = header("x-amz-date").ok_or(Unsignable)?.to_owned();
    let authorization = header("authorization").ok_or(Unsignable)?;
    let (signed, signature) = authorization_parts(authorization).ok_or(Unsignable)?;
    if signed != STS_SIGNED_HEADERS {
        return Err(Unsignable);
    }
    Ok(StsProof {
        region: region.to_owned(),
        date,
        access_key_id: credentials.access_key_id.clone(),
        signature: Secret::new(signature.to_owned()),
        session_token: credentials.token.clone(),
    })
}

fn instructions(
    credentials: &Credentials,
    region: &str,
    audience: &PublicKey,
    binding: &str,
    now: Timestamp,
) -> Option<SigningInstructions> {
    let identity = AwsCredentials::new(
        &credentials.access_key_id,
        credentials.secret_access_key.expose(),
        Some(credentials.token.expose().to_owned()),
        None,
        "imds",
    )
    .into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("sts")
        .time(SystemTime::from(now))
        .settings(SigningSettings::default())
        .build()
        .ok()?
        .into();
    let audience = audience.to_string();
    let headers = [
        ("content-type", STS_CONTENT_TYPE),
        (AUDIENCE_HEADER, audience.as_str()),
        (BINDING_HEADER, binding),
    ];
    let url = format!("https://{}/", sts_host(region));
    let body = SignableBody::Bytes(STS_BODY.as_bytes());
    let request = SignableRequest::new(STS_METHOD, url, headers.into_iter(), body).ok()?;
    Some(sign_request(request, &parameters).ok()?.into_parts().0)
}

/// The signed headers and the signature in an `Authorization` header.
fn authorization_parts(header: &str) -> Option<(&str, &str)> {
    let (_, rest) = header.split_once("SignedHeaders=")?;
    rest.split_once(", Signature=")
}

#[cfg(test)]
mod tests {
    use dynk8s_api::PrivateKey;
    use jiff::Timestamp;

    use super::{STS_SIGNED_HEADERS, authorization_parts, instructions, sign};
    use crate::facts::Credentials;

    fn credentials() -> Credentials {
        Credentials {
            access_key_id: "ASIAEXAMPLE".to_owned(),
            secret_access_key: "hush".to_owned().into(),
            token: "quiet".to_owned().into(),
        }
    }

    fn now() -> Timestamp {
        "2026-12-01T10:20:30Z".parse().unwrap()
    }

    #[test]
    fn signs_exactly_the_headers_of_the_protocol() {
        let audience = PrivateKey::generate().public();
        let instructions = instructions(&credentials(), "eu-central-1", &audience, "bound", now()).unwrap();
        let (_, authorization) = instructions
            .headers()
            .find(|(name, _)| *name == "authorization")
            .unwrap();
        assert_eq!(authorization_parts(authorization).unwrap().0, STS_SIGNED_HEADERS);
        assert!(authorization.contains("Credential=ASIAEXAMPLE/20261201/eu-central-1/sts/aws4_request"));
    }

    #[test]
    fn is_another_signature_for_another_audience_binding_and_time() {
        let (one, two) = (PrivateKey::generate().public(), PrivateKey::generate().public());
        let proof = |audience, binding, now| sign(&credentials(), "eu-central-1", audience, binding, now).unwrap();
        let base = proof(&one, "bound", now());
        assert_eq!(base.date, "20261201T102030Z");
        assert_eq!(base.signature.expose().len(), 64);
        let later = now() + jiff::SignedDuration::from_secs(1);
        for other in [
            proof(&two, "bound", now()),
            proof(&one, "other", now()),
            proof(&one, "bound", later),
        ] {
            assert_ne!(base.signature, other.signature);
        }
    }

    #[test]
    fn refuses_credentials_that_no_header_can_carry() {
        let audience = PrivateKey::generate().public();
        let damaged = Credentials {
            token: "quiet\nx-evil: 1".to_owned().into(),
            ..credentials()
        };
        assert!(sign(&damaged, "eu-central-1", &audience, "bound", now()).is_err());
    }
}
