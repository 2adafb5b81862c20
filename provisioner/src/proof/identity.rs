//! Who STS says that it was: the instance identity role, which nobody can assume, so that the name of its session is the
//! instance; or a role that a node group names, of which the same is true only as far as its trust policy goes.

use dynk8s_api::InstanceId;
use dynk8s_api::partition::Partition;
use jiff::Timestamp;

use super::document::Documented;
use super::sts::Caller;
use crate::aws;
use crate::config::InstanceRole;

/// A proven identity of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub account: String,
    pub region: String,
    /// The name of the role, if it was not the instance's own.
    pub role: Option<String>,
    /// Whether STS said so.
    pub by_sts: bool,
    /// When the instance was started last, if a document said so as well.
    pub pending: Option<Timestamp>,
}

impl Identity {
    /// With what the document says, unless that contradicts.
    pub fn with_document(mut self, document: Option<&Documented>) -> Option<Self> {
        if let Some(document) = document {
            self.pending = Some(document.pending);
            if document.account != self.account {
                return None;
            }
        }
        Some(self)
    }

    /// What it was proven by, in words.
    pub fn by(&self) -> &'static str {
        match (self.by_sts, self.pending) {
            (true, Some(_)) => "sts,document",
            (true, None) => "sts",
            (false, _) => "document",
        }
    }
}

/// The caller's identity, if the caller is this instance by its own role or by one of these.
pub fn identify<'a>(
    caller: &Caller,
    instance: &InstanceId,
    region: &str,
    roles: impl IntoIterator<Item = &'a InstanceRole>,
) -> Option<Identity> {
    let account = caller.account.as_str();
    if !aws::is_account(account) {
        return None;
    }
    let partition = Partition::of_region(region).as_str();
    let is = |role: &str, user: &str| {
        caller.arn == format!("arn:{partition}:sts::{account}:assumed-role/{role}/{instance}")
            && caller.user_id == format!("{user}:{instance}")
    };
    let role = if is("aws:ec2-instance", &format!("{account}:aws:ec2-instance")) {
        None
    } else {
        let role = roles.into_iter().find(|it| is(&it.name, &it.unique_id))?;
        Some(role.name.clone())
    };
    Some(Identity {
        account: account.to_owned(),
        region: region.to_owned(),
        role,
        by_sts: true,
        pending: None,
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::identify;
    use crate::config::InstanceRole;
    use crate::proof::sts::Caller;

    const ARN: &str = "arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0";
    const USER: &str = "123456789012:aws:ec2-instance:i-0123456789abcdef0";
    const NAMED: &str = "arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef0";
    const NAMED_USER: &str = "AROA0123456789ABCDEF:i-0123456789abcdef0";

    /// The role by which it is this instance; an empty one is the instance's own.
    fn role(arn: &str, user_id: &str, account: &str, roles: &[InstanceRole]) -> Option<String> {
        let caller = Caller {
            arn: arn.to_owned(),
            user_id: user_id.to_owned(),
            account: account.to_owned(),
        };
        let instance = "i-0123456789abcdef0".parse().unwrap();
        identify(&caller, &instance, "eu-central-1", roles).map(|it| it.role.unwrap_or_default())
    }

    #[test_case(ARN, USER, "123456789012", true; "the instance itself")]
    #[test_case(NAMED, USER, "123456789012", false; "a named role")]
    #[test_case(NAMED, NAMED_USER, "123456789012", false; "a session that somebody called like the instance")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef1", USER, "123456789012", false; "another instance")]
    #[test_case("arn:aws-cn:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0", USER, "123456789012", false; "another partition")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0/x", USER, "123456789012", false; "something behind")]
    #[test_case("arn:aws:iam::123456789012:user/i-0123456789abcdef0", "AIDAEXAMPLE", "123456789012", false; "a user")]
    #[test_case(ARN, "AROAEXAMPLE:i-0123456789abcdef0", "123456789012", false; "a user id that does not fit")]
    #[test_case(ARN, USER, "999999999999", false; "an account that does not fit")]
    #[test_case("arn:aws:sts:::assumed-role/aws:ec2-instance/i-0123456789abcdef0", ":aws:ec2-instance:i-0123456789abcdef0", "", false; "no account")]
    fn accepts_only_the_instance_identity_role(arn: &str, user_id: &str, account: &str, accepted: bool) {
        assert_eq!(role(arn, user_id, account, &[]).is_some(), accepted);
    }

    #[test_case(ARN, USER, Some(""); "the instance itself")]
    #[test_case(NAMED, NAMED_USER, Some("node"); "the named role")]
    #[test_case(NAMED, "AROAFEDCBA9876543210:i-0123456789abcdef0", None; "a role that was made again under its name")]
    #[test_case(NAMED, "AROA0123456789ABCDEF:i-0123456789abcdef1", None; "a user id of another instance")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef1", "AROA0123456789ABCDEF:i-0123456789abcdef1", None; "another instance")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/other/i-0123456789abcdef0", NAMED_USER, None; "another role")]
    fn accepts_the_role_that_is_named_by_its_unique_id(arn: &str, user_id: &str, expected: Option<&str>) {
        let named = InstanceRole {
            name: "node".to_owned(),
            unique_id: "AROA0123456789ABCDEF".to_owned(),
        };
        assert_eq!(role(arn, user_id, "123456789012", &[named]).as_deref(), expected);
    }
}
