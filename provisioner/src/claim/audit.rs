//! One line for each claim: who asked, what was decided, and why.

use dynk8s_api::problem::{Kind, Reason};
use dynk8s_api::{InstanceId, PublicKey};
use tracing::{info, warn};

use super::decide::Change;
use crate::refusal::Refusal;

/// What becomes of a claim. It is told when this is dropped, so also of a claim whose caller did not wait for the answer.
#[derive(Debug)]
pub struct Audit {
    instance: InstanceId,
    claim_key: String,
    proof: &'static str,
    recorded: Vec<&'static str>,
    verdict: Verdict,
}

#[derive(Debug)]
enum Verdict {
    Abandoned,
    Served(u32),
    Refused(Refusal),
}

impl Audit {
    /// Of a claim in the envelope of `sender`.
    pub fn new(instance: &InstanceId, sender: &PublicKey) -> Self {
        Self {
            instance: instance.clone(),
            claim_key: sender.fingerprint(),
            proof: "",
            recorded: Vec::new(),
            verdict: Verdict::Abandoned,
        }
    }

    /// It was proven by this.
    pub(super) fn proven(&mut self, by: &'static str) {
        self.proof = by;
    }

    /// This was written down.
    pub(super) fn recorded(&mut self, change: &Change) {
        self.recorded.push(change.name());
    }

    /// It was served this generation.
    pub(super) fn served(&mut self, generation: u32) {
        self.verdict = Verdict::Served(generation);
    }

    /// It was refused.
    pub(super) fn refused(&mut self, refusal: &Refusal) {
        self.verdict = Verdict::Refused(refusal.clone());
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        let Self {
            instance,
            claim_key,
            proof,
            recorded,
            verdict,
        } = self;
        let recorded = recorded.join(",");
        match verdict {
            Verdict::Abandoned => {
                info!(%instance, claim_key, outcome = "abandoned", proof, recorded, "claim");
            }
            Verdict::Served(generation) => {
                info!(%instance, claim_key, outcome = "served", generation, proof, recorded, "claim");
            }
            Verdict::Refused(refusal) => {
                let (reason, because) = (refusal.reason, refusal.to_string());
                let harmless = reason.kind() == Kind::TryAgain && reason != Reason::Unavailable;
                if harmless {
                    info!(%instance, claim_key, outcome = "refused", %reason, because, proof, recorded, "claim");
                } else {
                    warn!(%instance, claim_key, outcome = "refused", %reason, because, proof, recorded, "claim");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Result, Write};
    use std::sync::{Arc, Mutex};

    use dynk8s_api::PrivateKey;
    use dynk8s_api::problem::Reason;
    use jiff::Timestamp;

    use super::Audit;
    use crate::claim::decide::Change;
    use crate::refusal::Refusal;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    /// The lines that a claim of this course leaves, and the fingerprint of its key.
    fn lines(course: impl FnOnce(&mut Audit)) -> (Vec<String>, String) {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let key = PrivateKey::generate().public();
        tracing::subscriber::with_default(subscriber, || {
            course(&mut Audit::new(&"i-0123456789abcdef0".parse().unwrap(), &key));
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        (text.lines().map(str::to_owned).collect(), key.fingerprint())
    }

    #[test]
    fn a_claim_leaves_one_line_whatever_became_of_it() {
        let bound = Change::Contested(Timestamp::UNIX_EPOCH);
        let (served, key) = lines(|it| {
            it.proven("sts");
            it.recorded(&bound);
            it.served(2);
        });
        let expected = format!(
            "claim instance=i-0123456789abcdef0 claim_key=\"{key}\" outcome=\"served\" generation=2 proof=\"sts\" recorded=\"contested\""
        );
        assert!(
            served.len() == 1 && served[0].ends_with(&expected) && served[0].contains("INFO"),
            "{served:?}"
        );
        let (refused, _) = lines(|it| it.refused(&Refusal::new(Reason::NotProven, "told").because("only logged")));
        let expected = "outcome=\"refused\" reason=not-proven because=\"only logged\" proof=\"\" recorded=\"\"";
        assert!(
            refused.len() == 1 && refused[0].ends_with(expected) && refused[0].contains("WARN"),
            "{refused:?}"
        );
        let (abandoned, _) = lines(|_| {});
        assert!(
            abandoned.len() == 1 && abandoned[0].contains("outcome=\"abandoned\""),
            "{abandoned:?}"
        );
    }
}
