//! Who STS says that it was. Accepted is the instance identity role and nothing else: nobody can assume it, so the name
//! of its session is the instance.

use dynk8s_api::InstanceId;

use super::sts::Caller;
use crate::aws::{self, Partition};

/// A proven identity of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub account: String,
    pub region: String,
}

/// The caller's identity, if the caller is this instance's own role.
pub fn identify(caller: &Caller, instance: &InstanceId, region: &str) -> Option<Identity> {
    let account = caller.account.as_str();
    let partition = Partition::of_region(region).as_str();
    let arn = format!("arn:{partition}:sts::{account}:assumed-role/aws:ec2-instance/{instance}");
    let user_id = format!("{account}:aws:ec2-instance:{instance}");
    let is_it = aws::is_account(account) && caller.arn == arn && caller.user_id == user_id;
    is_it.then(|| Identity {
        account: account.to_owned(),
        region: region.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::identify;
    use crate::proof::sts::Caller;

    const ARN: &str = "arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0";
    const USER: &str = "123456789012:aws:ec2-instance:i-0123456789abcdef0";

    #[test_case(ARN, USER, "123456789012", true; "the instance itself")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef0", USER, "123456789012", false; "a named role")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef1", USER, "123456789012", false; "another instance")]
    #[test_case("arn:aws-cn:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0", USER, "123456789012", false; "another partition")]
    #[test_case("arn:aws:sts::123456789012:assumed-role/aws:ec2-instance/i-0123456789abcdef0/x", USER, "123456789012", false; "something behind")]
    #[test_case("arn:aws:iam::123456789012:user/i-0123456789abcdef0", "AIDAEXAMPLE", "123456789012", false; "a user")]
    #[test_case(ARN, "AROAEXAMPLE:i-0123456789abcdef0", "123456789012", false; "a user id that does not fit")]
    #[test_case(ARN, USER, "999999999999", false; "an account that does not fit")]
    #[test_case("arn:aws:sts:::assumed-role/aws:ec2-instance/i-0123456789abcdef0", ":aws:ec2-instance:i-0123456789abcdef0", "", false; "no account")]
    fn accepts_only_the_instance_identity_role(arn: &str, user_id: &str, account: &str, accepted: bool) {
        let caller = Caller {
            arn: arn.to_owned(),
            user_id: user_id.to_owned(),
            account: account.to_owned(),
        };
        let instance = "i-0123456789abcdef0".parse().unwrap();
        assert_eq!(identify(&caller, &instance, "eu-central-1").is_some(), accepted);
    }
}
