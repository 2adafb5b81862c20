//! Whether each account may do what it must, and nothing that would be worth stealing it for.

use super::Finding;
use crate::commands::check::facts::Seen;
use crate::commands::check::shipped::Right;

/// One finding for everybody who has rights.
pub(crate) fn needed(rights: &Seen<Vec<(Right, bool)>>) -> Vec<Finding> {
    const CHECK: &str = "rights";
    by_owner(CHECK, rights, |owner, of_owner| {
        let lacking: Vec<String> = described(of_owner, false);
        if lacking.is_empty() {
            return Finding::ok(CHECK, format!("{owner} has all {} that it needs", of_owner.len()));
        }
        let found = format!("{owner} may not {}", lacking.join("; "));
        let remedy = "apply the manifests again: `kubectl apply --server-side -k packaging/kubernetes/base`";
        Finding::failed(CHECK, found, remedy)
    })
}

/// The same, the other way round.
pub(crate) fn forbidden(rights: &Seen<Vec<(Right, bool)>>) -> Vec<Finding> {
    const CHECK: &str = "excess rights";
    by_owner(CHECK, rights, |owner, of_owner| {
        let excess: Vec<String> = described(of_owner, true);
        if excess.is_empty() {
            return Finding::ok(
                CHECK,
                format!("{owner} has none of {} that are worth stealing", of_owner.len()),
            );
        }
        let found = format!("{owner} may {}", excess.join("; "));
        let remedy =
            "find the binding that gives it (`kubectl get rolebindings,clusterrolebindings -A -o wide`) and remove it";
        Finding::failed(CHECK, found, remedy)
    })
}

fn by_owner(
    check: &'static str,
    rights: &Seen<Vec<(Right, bool)>>,
    judge: impl Fn(&str, &[&(Right, bool)]) -> Finding,
) -> Vec<Finding> {
    let rights = match rights {
        Err(why) => return vec![Finding::unseen(check, why)],
        Ok(rights) => rights,
    };
    let mut owners: Vec<String> = Vec::new();
    for (right, _) in rights {
        let owner = right.who.describe();
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }
    let judged = owners.iter().map(|owner| {
        let of_owner: Vec<_> = rights.iter().filter(|(it, _)| it.who.describe() == *owner).collect();
        judge(owner, &of_owner)
    });
    judged.collect()
}

fn described(rights: &[&(Right, bool)], having: bool) -> Vec<String> {
    let wanted = rights.iter().filter(|(_, has)| *has == having);
    wanted.map(|(right, _)| right.describe()).collect()
}
