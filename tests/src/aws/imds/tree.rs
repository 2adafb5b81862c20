//! The tree of metadata that an instance reads.

use jiff::Timestamp;
use serde_json::json;

use super::{Imds, signature};
use crate::aws::cloud::Instance;
use crate::topology::addresses::VPC_NETWORK;

/// The tree is the same in all of them; cloud-init asks for one by its date.
const VERSIONS: [&str; 2] = ["latest", "2021-03-23"];

impl Imds {
    /// The document at `path`; `None` where the tree has nothing.
    pub(super) fn read(&self, instance: &Instance, path: &str) -> Option<String> {
        if path.strip_suffix('/').unwrap_or(path) == "/latest" || path == "/" {
            return Some(if path == "/" { "latest" } else { "dynamic\nmeta-data" }.to_owned());
        }
        let path = VERSIONS
            .iter()
            .find_map(|it| path.strip_prefix('/')?.strip_prefix(it)?.strip_prefix('/'))?;
        let leaves = self.tree(instance);
        let credentials = path.starts_with("meta-data/identity-credentials/ec2/security-credentials");
        if credentials && self.faults().without_credentials {
            return None;
        }
        leaves
            .iter()
            .find(|(name, _)| name == path)
            .map(|(_, text)| text.clone())
            .or_else(|| list(&leaves, path))
    }

    fn tree(&self, instance: &Instance) -> Vec<(String, String)> {
        let document = self.identity_document(instance);
        let leaves = [
            (
                "dynamic/instance-identity/rsa2048",
                signature::sign(&document).unwrap_or_default(),
            ),
            ("dynamic/instance-identity/document", document),
            ("meta-data/ami-id", instance.image.clone()),
            ("meta-data/identity-credentials/ec2/info", self.identity_info()),
            (
                "meta-data/identity-credentials/ec2/security-credentials/ec2-instance",
                self.credentials(instance),
            ),
            ("meta-data/instance-id", instance.id.clone()),
            ("meta-data/instance-life-cycle", instance.lifecycle.as_str().to_owned()),
            ("meta-data/instance-type", instance.kind.clone()),
            ("meta-data/local-hostname", host_name(instance, self.cloud.region())),
            ("meta-data/local-ipv4", instance.address.to_string()),
            ("meta-data/mac", instance.mac.clone()),
            ("meta-data/placement/availability-zone", instance.zone.clone()),
            ("meta-data/placement/region", self.cloud.region().to_owned()),
            ("meta-data/services/domain", "amazonaws.com".to_owned()),
            ("meta-data/services/partition", "aws".to_owned()),
        ];
        let networks = format!(
            "meta-data/network/interfaces/macs/{}/vpc-ipv4-cidr-blocks",
            instance.mac
        );
        let leaves = leaves.into_iter().map(|(path, text)| (path.to_owned(), text));
        let user_data = instance.user_data.clone().map(|it| ("user-data".to_owned(), it));
        leaves
            .chain([(networks, VPC_NETWORK.to_owned())])
            .chain(user_data)
            .collect()
    }

    fn identity_document(&self, instance: &Instance) -> String {
        let document = json!({
            "accountId": self.cloud.account(),
            "architecture": "x86_64",
            "availabilityZone": instance.zone,
            "billingProducts": null,
            "devpayProductCodes": null,
            "marketplaceProductCodes": null,
            "imageId": instance.image,
            "instanceId": instance.id,
            "instanceType": instance.kind,
            "kernelId": null,
            "pendingTime": seconds(instance.launched),
            "privateIp": instance.address,
            "ramdiskId": null,
            "region": self.cloud.region(),
            "version": "2017-09-30",
        });
        format!("{document:#}")
    }

    fn identity_info(&self) -> String {
        let info =
            json!({ "Code": "Success", "LastUpdated": seconds(Timestamp::now()), "AccountId": self.cloud.account() });
        format!("{info:#}")
    }

    fn credentials(&self, instance: &Instance) -> String {
        let credentials = self.cloud.credentials_of(&instance.id);
        let answer = json!({
            "Code": "Success",
            "LastUpdated": seconds(credentials.issued),
            "Type": "AWS-HMAC",
            "AccessKeyId": credentials.access_key_id,
            "SecretAccessKey": credentials.secret_access_key,
            "Token": credentials.token,
            "Expiration": seconds(credentials.expires),
        });
        format!("{answer:#}")
    }
}

/// The names below a folder, folders with a slash, as AWS lists them.
fn list(leaves: &[(String, String)], folder: &str) -> Option<String> {
    let prefix = format!("{}/", folder.trim_end_matches('/'));
    let below = leaves.iter().filter_map(|(path, _)| path.strip_prefix(&prefix));
    let mut names: Vec<String> = below
        .map(|rest| rest.split_inclusive('/').next().unwrap_or(rest).to_owned())
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| names.join("\n"))
}

fn host_name(instance: &Instance, region: &str) -> String {
    format!(
        "ip-{}.{region}.compute.internal",
        instance.address.to_string().replace('.', "-")
    )
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
