//! What is known about the instance, and the document that says most of it.

use std::net::IpAddr;

use dynk8s_api::document::Signed;
use dynk8s_api::{InstanceId, Secret};
use ipnet::IpNet;
use serde::Deserialize;

use super::imds::Error;

/// More networks than a VPC can have.
const MOST_NETWORKS: usize = 64;

/// What the metadata service says about the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) id: InstanceId,
    pub(crate) instance_type: String,
    /// The zone's name, such as `eu-central-1a`.
    pub(crate) zone: String,
    pub(crate) region: String,
    pub(crate) account: String,
    /// The primary address in the VPC; absent where the subnet has IPv6 only.
    pub(crate) address: Option<IpAddr>,
    pub(crate) mac: Option<String>,
    /// `spot`, `on-demand` and the like.
    pub(crate) lifecycle: Option<String>,
    /// The VPC's own networks.
    pub(crate) vpc: Vec<IpNet>,
    /// The document in AWS's signature, as the provisioner verifies it.
    pub(crate) signed: Option<Secret>,
}

/// The instance identity document, as far as it is needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    account_id: String,
    availability_zone: String,
    instance_id: String,
    instance_type: String,
    private_ip: Option<IpAddr>,
    region: String,
}

impl Facts {
    pub(super) fn parse(document: &str, mac: Option<String>, lifecycle: Option<String>) -> Result<Self, Error> {
        let malformed = |fault: String| Error::Malformed {
            path: super::imds::DOCUMENT.to_owned(),
            fault,
        };
        let it: Document = serde_json::from_str(document).map_err(|error| malformed(error.to_string()))?;
        let id = it.instance_id.parse().map_err(|error| malformed(format!("{error}")))?;
        for (field, value, valid) in [
            ("accountId", &it.account_id, is_account(&it.account_id)),
            (
                "availabilityZone",
                &it.availability_zone,
                is_name(&it.availability_zone),
            ),
            ("region", &it.region, is_name(&it.region)),
            ("instanceType", &it.instance_type, is_instance_type(&it.instance_type)),
        ] {
            if !valid {
                return Err(malformed(format!(
                    "`{field}` is not what AWS documents: `{}`",
                    shown(value)
                )));
            }
        }
        Ok(Self {
            id,
            instance_type: it.instance_type,
            zone: it.availability_zone,
            region: it.region,
            account: it.account_id,
            address: it.private_ip,
            // It becomes part of a path.
            mac: mac.map(|it| it.trim_end().to_owned()).filter(|it| is_mac(it)),
            lifecycle: lifecycle.map(|it| it.trim_end().to_owned()),
            vpc: Vec::new(),
            signed: None,
        })
    }

    /// What the metadata say must be what the document says.
    pub(super) fn agree(&self, id: Option<&str>, zone: Option<&str>) -> Result<(), Error> {
        let by = "identity document";
        for (what, metadata, document) in [("instance", id, self.id.as_str()), ("zone", zone, &self.zone)] {
            if let Some(metadata) = metadata {
                same(what, metadata.trim_end(), by, document)?;
            }
        }
        Ok(())
    }

    /// The same, with the signed document, which must say the same. Its signature is not verified here: what this machine
    /// is told of itself it believes, but what the two say differently would be refused later, with less of an explanation.
    pub(super) fn with_signed(self, text: Option<String>) -> Result<Self, Error> {
        let malformed = |fault: String| Error::Malformed {
            path: super::imds::SIGNED_DOCUMENT.to_owned(),
            fault,
        };
        if let Some(text) = &text {
            let signed = Signed::parse(text).map_err(|error| malformed(error.to_string()))?;
            let signed: Document = serde_json::from_slice(&signed.content)
                .map_err(|error| malformed(format!("its content is no identity document: {error}")))?;
            for (what, metadata, document) in [
                ("instance", self.id.as_str(), &signed.instance_id),
                ("account", &self.account, &signed.account_id),
                ("region", &self.region, &signed.region),
                ("zone", &self.zone, &signed.availability_zone),
                ("type", &self.instance_type, &signed.instance_type),
            ] {
                same(what, metadata, "signed identity document", document)?;
            }
        }
        let signed = text.map(Secret::new);
        Ok(Self { signed, ..self })
    }

    /// Whether AWS may take the instance back with two minutes' notice.
    pub(crate) fn is_spot(&self) -> bool {
        self.lifecycle.as_deref() == Some("spot")
    }

    /// The id by which the Cluster Autoscaler knows the Node: with the zone's name, and three slashes.
    pub(crate) fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }
}

fn same(what: &'static str, metadata: &str, by: &'static str, document: &str) -> Result<(), Error> {
    if metadata == document {
        return Ok(());
    }
    Err(Error::Disagree {
        what,
        metadata: shown(metadata),
        by,
        document: shown(document),
    })
}

/// Lists of networks, one a line.
pub(super) fn networks(lists: &[Option<String>]) -> Result<Vec<IpNet>, Error> {
    let lines = lists
        .iter()
        .flatten()
        .flat_map(|it| it.lines())
        .map(str::trim)
        .filter(|it| !it.is_empty());
    let parse = |line: &str| line.parse().map(|it: IpNet| it.trunc());
    lines
        .map(|it| {
            parse(it).map_err(|_| Error::Malformed {
                path: "vpc-ipv4-cidr-blocks".to_owned(),
                fault: format!("expected a network, not `{}`", shown(it)),
            })
        })
        .take(MOST_NETWORKS)
        .collect()
}

fn shown(value: &str) -> String {
    value.chars().take(40).flat_map(char::escape_default).collect()
}

fn is_mac(text: &str) -> bool {
    text.len() == 17 && text.bytes().all(|it| it.is_ascii_hexdigit() || it == b':')
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|it| it.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    is_of(text, b"-")
}

fn is_instance_type(text: &str) -> bool {
    is_of(text, b"-.")
}

fn is_of(text: &str, beside: &[u8]) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || beside.contains(&it))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use test_case::test_case;

    use super::{Error, Facts, networks};

    fn document() -> Value {
        json!({
            "accountId": "123456789012",
            "architecture": "x86_64",
            "availabilityZone": "eu-central-1a",
            "instanceId": "i-0123456789abcdef0",
            "instanceType": "t3.medium",
            "privateIp": "172.31.0.10",
            "region": "eu-central-1",
        })
    }

    #[test]
    fn reads_what_aws_documents() {
        let mut document = document();
        document["instanceType"] = json!("m7i-flex.large");
        let facts = Facts::parse(&document.to_string(), Some("0a:ff:00:00:00:01\n".to_owned()), None).unwrap();
        assert_eq!(facts.provider_id(), "aws:///eu-central-1a/i-0123456789abcdef0");
        assert_eq!(facts.mac.as_deref(), Some("0a:ff:00:00:00:01"));
        assert_eq!(facts.address, Some("172.31.0.10".parse().unwrap()));
    }

    const SIGNED: &str = include_str!("../../../provisioner/api/testdata/identity-document.rsa2048");

    #[test]
    fn takes_a_signed_document_that_says_the_same() {
        let facts = || Facts::parse(&document().to_string(), None, None).unwrap();
        let signed = facts().with_signed(Some(SIGNED.to_owned())).unwrap().signed;
        assert_eq!(signed.unwrap().expose(), SIGNED);
        assert!(
            facts().with_signed(None).unwrap().signed.is_none(),
            "an emulator may have none"
        );
    }

    #[test_case("instanceId", "i-0123456789abcdef1"; "another instance")]
    #[test_case("accountId", "999999999999"; "another account")]
    #[test_case("region", "eu-west-1"; "another region")]
    #[test_case("availabilityZone", "eu-central-1b"; "another zone")]
    #[test_case("instanceType", "p5.48xlarge"; "another type")]
    fn refuses_what_the_signed_document_denies(field: &str, value: &str) {
        let right = document()[field].clone();
        let mut document = document();
        document[field] = json!(value);
        let facts = Facts::parse(&document.to_string(), None, None).unwrap();
        let error = facts.with_signed(Some(SIGNED.to_owned())).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Disagree { .. }), "{text}");
        assert!(
            text.contains(value) && text.contains(right.as_str().unwrap()) && text.contains("signed"),
            "{text}"
        );
    }

    #[test_case(""; "nothing")]
    #[test_case("<html>"; "a page")]
    #[test_case("MIAG"; "a document that is cut off")]
    fn refuses_a_signed_document_that_is_none(text: &str) {
        let facts = Facts::parse(&document().to_string(), None, None).unwrap();
        let error = facts.with_signed(Some(text.to_owned())).unwrap_err().to_string();
        assert!(error.contains("rsa2048"), "{error}");
    }

    #[test_case("instanceId", "i-x"; "no instance id")]
    #[test_case("accountId", "12345678901"; "eleven digits")]
    #[test_case("availabilityZone", "eu-central-1a/../x"; "a path for a zone")]
    #[test_case("availabilityZone", ""; "no zone")]
    #[test_case("region", "eu central"; "a space in the region")]
    #[test_case("instanceType", "m7i\" --x"; "an argument for a type")]
    #[test_case("privateIp", "172.31.0"; "no address")]
    fn refuses_what_aws_does_not_document(field: &str, value: &str) {
        let mut document = document();
        document[field] = json!(value);
        let error = Facts::parse(&document.to_string(), None, None).unwrap_err().to_string();
        assert!(error.contains("instance-identity/document"), "{error}");
    }

    #[test_case(None, None, true; "nothing to compare")]
    #[test_case(Some("i-0123456789abcdef0\n"), Some("eu-central-1a"), true; "the same")]
    #[test_case(Some("i-0123456789abcdef1"), None, false; "another instance")]
    #[test_case(None, Some("eu-central-1b"), false; "another zone")]
    fn must_agree_with_the_metadata(id: Option<&str>, zone: Option<&str>, expected: bool) {
        let facts = Facts::parse(&document().to_string(), None, None).unwrap();
        assert_eq!(facts.agree(id, zone).is_ok(), expected);
    }

    #[test_case("0a:ff:00:00:00:01", true; "a card")]
    #[test_case("../../latest/user-data", false; "a path")]
    #[test_case("", false; "nothing")]
    fn takes_for_a_card_what_is_one(mac: &str, expected: bool) {
        let facts = Facts::parse(&document().to_string(), Some(mac.to_owned()), None).unwrap();
        assert_eq!(facts.mac.is_some(), expected);
    }

    #[test_case(&[], Some(&[]); "no list")]
    #[test_case(&["172.31.0.0/16\n100.64.0.0/16\n", "2001:db8::/56"], Some(&["172.31.0.0/16", "100.64.0.0/16", "2001:db8::/56"]); "both families")]
    #[test_case(&["172.31.9.9/16"], Some(&["172.31.0.0/16"]); "host bits")]
    #[test_case(&["<html>"], None; "something else")]
    fn reads_the_networks_of_the_vpc(lists: &[&str], expected: Option<&[&str]>) {
        let lists: Vec<_> = lists.iter().map(|it| Some((*it).to_owned())).collect();
        let expected = expected.map(|it| it.iter().map(|it| it.parse().unwrap()).collect::<Vec<_>>());
        assert_eq!(networks(&lists).ok(), expected);
    }
}
