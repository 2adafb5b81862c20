//! The rules of a policy, by rtnetlink: those that wg-quick makes for a default route, at the places that they get on a
//! machine without other rules.

use std::path::Path;

use anyhow::Context as _;
use futures_util::TryStreamExt as _;
use rtnetlink::IpVersion;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage};
use tracing::info;

use super::link::{EXISTS, Netlink};
use super::plan::{MAIN_TABLE, Policy};
use super::routes::OURS;

const SUPPRESS: u32 = 32764;
const UNMARKED: u32 = 32765;

/// Lets the answers to marked packets pass a strict reverse path filter.
const VALID_MARK: &str = "/proc/sys/net/ipv4/conf/all/src_valid_mark";

impl Netlink {
    pub(super) async fn set_rules(&self, policy: Option<Policy>) -> anyhow::Result<()> {
        for (version, family) in [
            (IpVersion::V4, AddressFamily::Inet),
            (IpVersion::V6, AddressFamily::Inet6),
        ] {
            let applies = policy.filter(|it| if version == IpVersion::V4 { it.v4 } else { it.v6 });
            let wanted = applies.map(|it| rules(it, family)).unwrap_or_default();
            let there: Vec<RuleMessage> = self
                .handle
                .rule()
                .get(version)
                .execute()
                .try_collect()
                .await
                .context("failed to read the routing rules")?;
            for rule in there
                .iter()
                .filter(|it| is_ours(it) && !wanted.iter().any(|wanted| same(it, wanted)))
            {
                info!("removing a routing rule of ours that is no longer wanted");
                let removed = self.handle.rule().del(rule.clone()).execute().await;
                removed.context("failed to remove a routing rule of ours")?;
            }
            for rule in wanted.iter().filter(|wanted| !there.iter().any(|it| same(it, wanted))) {
                self.add_rule(rule).await?;
            }
        }
        if policy.is_some_and(|it| it.v4) {
            crate::host::files::write_setting(Path::new(VALID_MARK), "1")?;
        }
        Ok(())
    }

    async fn add_rule(&self, rule: &RuleMessage) -> anyhow::Result<()> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = rule.clone();
        match request.execute().await {
            Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == EXISTS => Ok(()),
            outcome => outcome.context("failed to add a routing rule"),
        }
    }
}

fn rules(policy: Policy, family: AddressFamily) -> Vec<RuleMessage> {
    let rule = |flags, attributes: &[RuleAttribute]| {
        let mut message = RuleMessage::default();
        message.header = RuleHeader {
            family,
            action: RuleAction::ToTable,
            flags,
            ..RuleHeader::default()
        };
        message.attributes = attributes.to_vec();
        message.attributes.push(RuleAttribute::Protocol(OURS));
        message
    };
    let suppress = [
        RuleAttribute::Priority(SUPPRESS),
        RuleAttribute::Table(MAIN_TABLE),
        RuleAttribute::SuppressPrefixLen(0),
    ];
    let unmarked = [
        RuleAttribute::Priority(UNMARKED),
        RuleAttribute::Table(policy.mark),
        RuleAttribute::FwMark(policy.mark),
    ];
    vec![rule(RuleFlags::empty(), &suppress), rule(RuleFlags::Invert, &unmarked)]
}

fn is_ours(rule: &RuleMessage) -> bool {
    rule.attributes.contains(&RuleAttribute::Protocol(OURS))
}

/// The kernel adds attributes of its own.
fn same(there: &RuleMessage, wanted: &RuleMessage) -> bool {
    there.header.flags.contains(wanted.header.flags) && wanted.attributes.iter().all(|it| there.attributes.contains(it))
}
