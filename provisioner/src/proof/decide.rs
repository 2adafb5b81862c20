//! What a claim must be proven by, and whether it was.

use dynk8s_api::problem::Reason;
use jiff::{SignedDuration, Timestamp};

use super::{Asked, Identity};
use crate::config::{Config, NodeGroup, ProofMode};
use crate::worker::Announced;

/// How long after its start an instance may prove itself by its document alone.
const UNBOUND: SignedDuration = SignedDuration::from_mins(10);

/// How far the clocks of AWS and ours may differ, and how late an announcement may be dated.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// How long an instance may take from `pending` to the announced `running`: bare metal takes its time.
const START: SignedDuration = SignedDuration::from_mins(30);

/// Whether anything can come of a claim for an instance of this region, whose document says this account if it was given.
pub fn check_region(account: Option<&str>, region: &str, config: &Config) -> Result<(), (Reason, &'static str)> {
    let mut groups = candidates(account, region, config).peekable();
    if groups.peek().is_none() {
        return Err((Reason::NotEligible, "no node group takes the instance"));
    }
    if account.is_none() && !groups.any(|it| it.proof == ProofMode::Sts) {
        return Err((
            Reason::NotProven,
            "the instance must show its identity document as well",
        ));
    }
    Ok(())
}

/// Whether a document of this region is looked at. Where STS alone is asked for it may be of a signer whom nobody knows.
pub fn reads_documents(region: &str, config: &Config) -> bool {
    candidates(None, region, config).any(|it| it.proof != ProofMode::Sts)
}

/// Who it is by the document alone, where nothing more is asked for.
pub fn by_document(asked: &Asked, config: &Config) -> Option<Identity> {
    let document = asked.document.as_ref()?;
    let region = &asked.request.sts.region;
    let suffices = candidates(Some(&document.account), region, config).all(|it| it.proof == ProofMode::Document);
    suffices.then(|| Identity {
        account: document.account.clone(),
        region: region.clone(),
        role: None,
        by_sts: false,
        pending: Some(document.pending),
    })
}

/// Whether this was proven as the group asks for.
pub fn satisfies(group: &NodeGroup, identity: &Identity, now: Timestamp) -> Result<(), &'static str> {
    match (group.proof, identity.pending) {
        (ProofMode::Sts, _) | (ProofMode::Both, Some(_)) if identity.by_sts => Ok(()),
        (ProofMode::Both, None) => Err("the instance must show its identity document as well"),
        (ProofMode::Document, Some(pending)) => {
            if (-SKEW..=UNBOUND).contains(&now.duration_since(pending)) {
                Ok(())
            } else {
                Err("the identity document is of a start more than ten minutes ago")
            }
        }
        (ProofMode::Sts | ProofMode::Both, _) => Err("the instance must prove itself by STS as well"),
        (ProofMode::Document, None) => Err("the instance must show its identity document"),
    }
}

/// Whether this was proven as one of the groups asks for that may take the instance, while it is not known which does.
pub fn may_satisfy(config: &Config, identity: &Identity, now: Timestamp) -> Result<(), &'static str> {
    let groups = candidates(Some(&identity.account), &identity.region, config);
    let mut answers = groups.map(|it| satisfies(it, identity, now));
    let first = answers.next().unwrap_or(Ok(()));
    first.or_else(|text| answers.find(Result::is_ok).unwrap_or(Err(text)))
}

/// Whether the start that the document speaks of is the one that was announced.
pub fn fits_announcement(announced: &Announced, pending: Timestamp) -> Result<(), (Reason, &'static str)> {
    let since = announced.time.duration_since(pending);
    if since < -SKEW {
        Err((
            Reason::NotAnnounced,
            "AWS has not announced the instance's last start yet",
        ))
    } else if since > START {
        Err((
            Reason::NotProven,
            "the identity document is of an earlier start than the announced one",
        ))
    } else {
        Ok(())
    }
}

fn candidates<'a>(account: Option<&str>, region: &str, config: &'a Config) -> impl Iterator<Item = &'a NodeGroup> {
    config
        .node_groups
        .iter()
        .filter(move |it| it.lists_region(region) && account.is_none_or(|account| it.lists(account, region)))
}

#[cfg(test)]
mod tests {
    use dynk8s_api::problem::Reason;
    use jiff::{SignedDuration, Timestamp};
    use test_case::test_case;

    use super::{check_region, fits_announcement, reads_documents, satisfies};
    use crate::config::Config;
    use crate::proof::Identity;
    use crate::worker::{Announced, State};

    fn config(proof: &str) -> Config {
        let keys = format!("proof = \"{proof}\"\nregions = [");
        toml::from_str(&include_str!("../../testdata/provisioner.toml").replace("regions = [", &keys)).unwrap()
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-12-01T{time}Z").parse().unwrap()
    }

    #[test_case("both", None, Some(Reason::NotProven); "both without a document")]
    #[test_case("both", Some("123456789012"), None; "both with one")]
    #[test_case("both", Some("999999999999"), Some(Reason::NotEligible); "a foreign account's document")]
    #[test_case("document", None, Some(Reason::NotProven); "the document alone, and it is not there")]
    #[test_case("sts", None, None; "sts")]
    #[test_case("sts", Some("123456789012"), None; "sts with a document")]
    fn what_a_claim_lacks_is_told_before_sts_is_asked(proof: &str, account: Option<&str>, reason: Option<Reason>) {
        let config = config(proof);
        let checked = check_region(account, "eu-central-1", &config);
        assert_eq!(checked.err().map(|it| it.0), reason);
        assert_eq!(
            check_region(account, "eu-west-1", &config).unwrap_err().0,
            Reason::NotEligible
        );
        assert_eq!(reads_documents("eu-central-1", &config), proof != "sts");
    }

    #[test_case("both", true, Some("11:00:00"), true; "both")]
    #[test_case("both", true, None, false; "both without a document")]
    #[test_case("both", false, Some("12:00:00"), false; "both without sts")]
    #[test_case("sts", true, None, true; "sts")]
    #[test_case("sts", false, Some("12:00:00"), false; "sts without sts")]
    #[test_case("document", false, Some("12:00:00"), true; "a document")]
    #[test_case("document", false, Some("11:50:00"), true; "a document of ten minutes")]
    #[test_case("document", false, Some("11:49:59"), false; "an older document")]
    #[test_case("document", true, Some("11:49:59"), false; "an older document, and sts")]
    #[test_case("document", false, Some("12:05:00"), true; "a document from a clock that is ahead")]
    #[test_case("document", false, Some("12:05:01"), false; "a document from the future")]
    #[test_case("document", true, None, false; "no document")]
    fn a_group_is_satisfied_by_what_it_asks_for(proof: &str, by_sts: bool, pending: Option<&str>, satisfied: bool) {
        let identity = Identity {
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            role: None,
            by_sts,
            pending: pending.map(at),
        };
        let config = config(proof);
        assert_eq!(
            satisfies(&config.node_groups[0], &identity, at("12:00:00")).is_ok(),
            satisfied
        );
    }

    #[test_case(0, None; "at once")]
    #[test_case(1800, None; "after half an hour")]
    #[test_case(1801, Some(Reason::NotProven); "of an earlier start")]
    #[test_case(-300, None; "dated before the start")]
    #[test_case(-301, Some(Reason::NotAnnounced); "of the start before")]
    fn the_announcement_must_be_of_the_same_start(seconds: i64, reason: Option<Reason>) {
        let announced = Announced {
            state: State::Running,
            account: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            time: at("12:00:00") + SignedDuration::from_secs(seconds),
        };
        assert_eq!(
            fits_announcement(&announced, at("12:00:00")).err().map(|it| it.0),
            reason
        );
    }
}
