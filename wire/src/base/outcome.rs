//! What becomes of a call that asks for a decision.

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It was admitted.
    Allowed,
    /// It was denied.
    Denied,
    /// It was admitted, since the policy that denies it is not enforced.
    WouldDeny,
    /// It failed.
    Error,
}

impl Outcome {
    /// Every outcome, in the order of the documentation.
    pub const ALL: [Outcome; 4] = [Outcome::Allowed, Outcome::Denied, Outcome::WouldDeny, Outcome::Error];

    /// The text of the outcome, the same in every language.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Allowed => "allowed",
            Outcome::Denied => "denied",
            Outcome::WouldDeny => "would_deny",
            Outcome::Error => "error",
        }
    }
}
