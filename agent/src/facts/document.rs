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
    let malformed = |fault: String| Error::Malformed {
        path: "vpc-ipv4-cidr-blocks".to_owned(),
        fault,
    };
    // One that was left out would be routed into the tunnel.
    if lines.clone().count() > MOST_NETWORKS {
        return Err(malformed(format!("expected at most {MOST_NETWORKS} networks")));
    }
    lines
        .map(|it| parse(it).map_err(|_| malformed(format!("expected a network, not `{}`", shown(it)))))
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
mod tests;
