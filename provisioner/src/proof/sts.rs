//! `GetCallerIdentity`: the request is built here, whole, and only the signature's own parts are the agent's.

mod answer;

use std::time::Instant;

use anyhow::anyhow;
use dynk8s_api::binding::{
    AUDIENCE_HEADER, BINDING_HEADER, STS_BODY, STS_CONTENT_TYPE, STS_SIGNED_HEADERS, binding, sts_host,
};
use dynk8s_api::claim::StsProof;
use dynk8s_api::{InstanceId, PublicKey};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode};

pub use answer::Caller;

use super::check::Asked;
use super::identity::{Identity, identify};
use super::turns::{Standing, Turns};
use crate::config::InstanceRole;
use crate::fetch::{self, Answer};
use crate::metrics::Metrics;

const MAX_ANSWER: usize = 16 * 1024;

/// What STS is asked for, and what it answers.
const ACCEPTED: &str = "text/xml";

/// Why an instance is not proven.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// STS does not know the signature. Its code tells the caller nothing that he could not ask it himself.
    #[error("STS does not accept the proof ({0})")]
    Unknown(String),
    /// It is the signature of somebody else, whom only the log names.
    #[error("the proof is not of this instance")]
    Another(Caller),
    /// Too many questions at once.
    #[error("too many proofs are being checked")]
    Busy,
    /// STS could not be asked.
    #[error("failed to ask STS")]
    Unavailable(#[source] anyhow::Error),
}

/// Asks STS.
#[derive(Debug)]
pub struct Sts {
    client: Client,
    audience: PublicKey,
    turns: Turns,
    metrics: Metrics,
}

impl Sts {
    /// Accepts proofs that were signed for this audience, our own public key.
    pub fn new(client: Client, audience: PublicKey, metrics: Metrics) -> Self {
        Self {
            client,
            audience,
            turns: Turns::new(),
            metrics,
        }
    }

    /// Who signed the proof, if it was this instance, by its own role or by one of these.
    pub async fn prove(
        &self,
        instance: &InstanceId,
        asked: &Asked,
        standing: Standing,
        roles: impl Iterator<Item = &InstanceRole> + Send,
    ) -> Result<Identity, Refusal> {
        let proof = &asked.request.sts;
        let binding = binding(instance, &asked.sender, &asked.request.kubelet_key);
        let request = self.request(proof, &binding).map_err(Refusal::Unavailable)?;
        let _turn = self.turns.take(instance, standing).await.ok_or(Refusal::Busy)?;
        let answer = self.ask(request).await.map_err(Refusal::Unavailable)?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::FORBIDDEN => {
                let code = answer::error_code(&answer.body).unwrap_or_default();
                return Err(Refusal::Unknown(code));
            }
            status => return Err(Refusal::Unavailable(anyhow!("STS answers {status}"))),
        }
        // Something that answers XML in a JSON string is not STS's own voice.
        let is_xml = answer.media_type == ACCEPTED;
        let caller = is_xml
            .then(|| answer::read(&answer.body))
            .flatten()
            .ok_or_else(|| Refusal::Unavailable(anyhow!("STS answers something else than a caller's identity")))?;
        identify(&caller, instance, &proof.region, roles).ok_or(Refusal::Another(caller))
    }

    async fn ask(&self, request: RequestBuilder) -> anyhow::Result<Answer> {
        let begun = Instant::now();
        let answer = fetch::bounded(request, MAX_ANSWER).await;
        let outcome = match answer.as_ref().map(|it| it.status) {
            Ok(StatusCode::OK) => "answered",
            Ok(it) if it.is_client_error() => "refused",
            Ok(_) => "failed",
            Err(_) => "unreachable",
        };
        self.metrics.sts_request(outcome, begun.elapsed());
        answer
    }

    fn request(&self, proof: &StsProof, binding: &str) -> anyhow::Result<RequestBuilder> {
        let StsProof {
            region,
            date,
            access_key_id,
            signature,
            session_token,
        } = proof;
        let day = date.get(..8).unwrap_or_default();
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={access_key_id}/{day}/{region}/sts/aws4_request, \
             SignedHeaders={STS_SIGNED_HEADERS}, Signature={}",
            signature.expose()
        );
        Ok(self
            .client
            .post(format!("https://{}/", sts_host(region)))
            .header(ACCEPT, ACCEPTED)
            .header(CONTENT_TYPE, STS_CONTENT_TYPE)
            .header("x-amz-date", date)
            .header("x-amz-security-token", sensitive(session_token.expose())?)
            .header(AUDIENCE_HEADER, self.audience.to_string())
            .header(BINDING_HEADER, binding)
            .header(AUTHORIZATION, sensitive(&authorization)?)
            .body(STS_BODY))
    }
}

fn sensitive(text: &str) -> anyhow::Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dynk8s_api::claim::StsProof;
    use dynk8s_api::{PrivateKey, Secret};

    use super::{Metrics, Sts};

    #[test]
    fn the_request_is_built_from_what_we_know_and_the_signature() {
        // Another test may have chosen the same provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let audience = PrivateKey::generate().public();
        let sts = Sts::new(
            crate::fetch::client(Duration::from_secs(1)).unwrap(),
            audience,
            Metrics::default(),
        );
        let proof = StsProof {
            region: "eu-central-1".to_owned(),
            date: "20261201T120000Z".to_owned(),
            access_key_id: "ASIA0123456789ABCDEF".to_owned(),
            signature: Secret::new("feed".to_owned()),
            session_token: Secret::new("token".to_owned()),
        };
        let request = sts.request(&proof, "bound").unwrap().build().unwrap();
        assert_eq!(
            (request.method().as_str(), request.url().as_str()),
            ("POST", "https://sts.eu-central-1.amazonaws.com/")
        );
        assert_eq!(
            request.body().unwrap().as_bytes().unwrap(),
            b"Action=GetCallerIdentity&Version=2011-06-15"
        );
        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-dynk8s-audience"), audience.to_string());
        assert_eq!(header("x-dynk8s-binding"), "bound");
        assert_eq!(
            header("authorization"),
            "AWS4-HMAC-SHA256 Credential=ASIA0123456789ABCDEF/20261201/eu-central-1/sts/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-dynk8s-audience;x-dynk8s-binding, \
             Signature=feed"
        );
        let printed = format!("{request:?}");
        assert!(!printed.contains("feed") && !printed.contains("\"token\""), "{printed}");
    }
}
