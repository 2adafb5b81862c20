//! What became of a message, as it is counted.

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A state change was written down.
    Recorded,
    /// A state change that came before, or that has been overtaken since.
    Repeated,
    /// A state change of an instance that no node group wants.
    NotEligible,
    /// An event of another kind.
    OtherEvent,
    /// A subscription was confirmed.
    Confirmed,
    /// A subscription was ended.
    Unsubscribed,
    /// Too long, or it did not arrive whole or in time.
    CutOff,
    /// Delivered without the envelope that holds the signature.
    Raw,
    /// Not of the documented form.
    Malformed,
    /// Of a topic that is not listed, or of another account or region than its topic.
    OtherTopic,
    /// Too old, or from the future.
    Stale,
    /// Not signed by AWS.
    NotAuthentic,
    /// It could not be told, and asking again helps.
    Unavailable,
}

impl Outcome {
    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Repeated => "repeated",
            Self::NotEligible => "not-eligible",
            Self::OtherEvent => "other-event",
            Self::Confirmed => "confirmed",
            Self::Unsubscribed => "unsubscribed",
            Self::CutOff => "cut-off",
            Self::Raw => "raw",
            Self::Malformed => "malformed",
            Self::OtherTopic => "other-topic",
            Self::Stale => "stale",
            Self::NotAuthentic => "not-authentic",
            Self::Unavailable => "unavailable",
        }
    }
}
