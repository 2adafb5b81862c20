//! `POST /v1/workers/{id}/claim`: an instance proves itself and receives what it needs to join.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::binding::KubeletKeyHash;
use crate::bytes;
use crate::secret::Secret;

/// What an agent asks, inside the envelope.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClaimRequest {
    /// 32 fresh random bytes, so that no two requests, and hence no two answers, are alike.
    #[serde(with = "bytes")]
    pub nonce: [u8; 32],
    /// The proof that STS can confirm.
    pub sts: StsProof,
    /// The identity document in AWS's signature, as the metadata service hands it out under `rsa2048`. Agents of the
    /// first release had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Secret>,
    /// The hash of the key for which the kubelet will ask its first certificate.
    #[serde(with = "bytes")]
    pub kubelet_key: KubeletKeyHash,
    /// The kubelet's version as it prints it (`v1.37.2`), for the check of version skew.
    pub kubelet_version: String,
    /// The generation that this machine has reset after a failed join; it asks for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<u32>,
}

/// The parts of a signed `GetCallerIdentity` request. The provisioner builds the request itself around them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct StsProof {
    /// The region whose STS is asked; it must be the instance's own.
    pub region: String,
    /// `X-Amz-Date`: `YYYYMMDDTHHMMSSZ`, UTC. STS takes it for 15 minutes.
    pub date: String,
    /// The access key id of the temporary credentials.
    pub access_key_id: String,
    /// The Signature Version 4 signature: 64 lowercase hexadecimal digits.
    pub signature: Secret,
    /// The session token of the temporary credentials.
    pub session_token: Secret,
}

/// What the provisioner hands out, inside the envelope. An agent ignores fields that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimAnswer {
    /// Counts the attempts to join: 1 first, one more after each reset.
    pub generation: u32,
    /// A complete wg-quick document (see [`crate::wireguard`]).
    pub wireguard: Secret,
    /// The cluster to join.
    pub cluster: Cluster,
    /// The bootstrap token, `<id>.<secret>`.
    pub token: Secret,
    /// What the node is to be.
    pub node: NodeSettings,
}

/// How the node reaches the cluster through the tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The API server's URL, `https://name:port`.
    pub server: String,
    /// The cluster's CA certificates, PEM.
    pub ca: String,
    /// The API server's version (`v1.37.2`).
    pub version: String,
}

/// What a node registers with. Labels that a kubelet may not set itself are not here: the provisioner sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSettings {
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Taints, the startup taint among them.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Fields of the kubelet's configuration, by its own names. What the agent must set itself counts more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kubelet: BTreeMap<String, serde_json::Value>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// Qualified name.
    pub key: String,
    /// Value, often empty.
    #[serde(default)]
    pub value: String,
    /// What it does to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// The effects that Kubernetes knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods stay away if they can.
    PreferNoSchedule,
    /// New pods stay away, running ones are evicted.
    NoExecute,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::{ClaimAnswer, ClaimRequest};

    /// The answer as the first release wrote it. Agents baked into old images read it for ever: never change it.
    const ANSWER_0_1: &str = include_str!("../testdata/claim-answer-0.1.json");

    /// The request as the first release wrote it, and as this one does. Provisioners read both for ever.
    const REQUEST_0_1: &str = include_str!("../testdata/claim-request-0.1.json");
    const REQUEST_0_2: &str = include_str!("../testdata/claim-request-0.2.json");

    #[test]
    fn reads_the_answer_of_the_first_release() {
        let answer: ClaimAnswer = serde_json::from_str(ANSWER_0_1).unwrap();
        assert_eq!(answer.generation, 1);
        assert_eq!(answer.token.expose(), "abcdef.0123456789abcdef");
        let again: serde_json::Value = serde_json::to_value(&answer).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(ANSWER_0_1).unwrap());
    }

    #[test]
    fn ignores_fields_of_later_releases() {
        let mut answer: serde_json::Value = serde_json::from_str(ANSWER_0_1).unwrap();
        answer["futureField"] = serde_json::json!({"a": 1});
        answer["node"]["futureField"] = serde_json::json!(true);
        assert!(serde_json::from_value::<ClaimAnswer>(answer).is_ok());
    }

    #[test_case(REQUEST_0_1, false; "the first release, without a document")]
    #[test_case(REQUEST_0_2, true; "this release")]
    fn reads_the_request_of(text: &str, has_document: bool) {
        let request: ClaimRequest = serde_json::from_str(text).unwrap();
        assert_eq!(request.document.is_some(), has_document);
        let again: serde_json::Value = serde_json::to_value(&request).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).unwrap());
    }

    #[test]
    fn refuses_fields_that_it_does_not_know() {
        let mut request: serde_json::Value = serde_json::from_str(REQUEST_0_2).unwrap();
        request["futureField"] = serde_json::json!(1);
        assert!(serde_json::from_value::<ClaimRequest>(request).is_err());
    }

    #[test_case("", json!([]); "a list for an object")]
    #[test_case("/nonce", json!(null); "no nonce")]
    #[test_case("/nonce", json!("AAAA"); "a short nonce")]
    #[test_case("/nonce", json!("A".repeat(4096)); "a long nonce")]
    #[test_case("/kubeletKey", json!(""); "an empty hash")]
    #[test_case("/kubeletKey", json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"); "a hash without its padding")]
    #[test_case("/kubeletKey", json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB="); "bits that stand for nothing")]
    #[test_case("/kubeletKey", json!("____________________________________________"); "another alphabet")]
    #[test_case("/sts", json!(null); "no proof")]
    #[test_case("/sts/signature", json!(1); "a number for a text")]
    #[test_case("/sts", json!({ "region": "eu-central-1" }); "half a proof")]
    #[test_case("/sts", json!({ "region": "r", "date": "d", "accessKeyId": "a", "signature": "s", "sessionToken": "t",
        "url": "https://evil.example/" }); "a proof that names its judge")]
    #[test_case("/document", json!({}); "an object for a text")]
    #[test_case("/kubeletVersion", json!(1.37); "a number for a version")]
    #[test_case("/reset", json!(-1); "a negative generation")]
    #[test_case("/reset", json!(1.5); "half a generation")]
    #[test_case("/reset", json!(4_294_967_296_u64); "a generation beyond all")]
    fn refuses(pointer: &str, value: Value) {
        let mut request: Value = serde_json::from_str(REQUEST_0_2).unwrap();
        *request.pointer_mut(pointer).unwrap() = value;
        assert!(serde_json::from_str::<ClaimRequest>(&request.to_string()).is_err());
    }

    #[test_case(&REQUEST_0_2.replacen('{', "{\"nonce\": \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",", 1); "a field that stands twice")]
    #[test_case(&format!("{REQUEST_0_2}{{}}"); "something behind")]
    #[test_case(REQUEST_0_2.trim_end().trim_end_matches('}'); "cut off")]
    #[test_case(&"[".repeat(60_000); "what has no ground")]
    fn refuses_the_text(text: &str) {
        assert!(serde_json::from_str::<ClaimRequest>(text).is_err());
    }

    #[test]
    fn prints_no_secret() {
        let answer: ClaimAnswer = serde_json::from_str(ANSWER_0_1).unwrap();
        let request: ClaimRequest = serde_json::from_str(REQUEST_0_2).unwrap();
        let printed = format!("{answer:?}{request:?}");
        for secret in ["0123456789abcdef", "PrivateKey", "feedface", "sessiontoken", "MIAGCSqG"] {
            assert!(!printed.contains(secret), "{secret}");
        }
    }
}
