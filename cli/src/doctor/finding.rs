//! What was found.

use serde::Serialize;

use super::families::{Doubt, Recognised};
use super::proof::Track;

/// Something that is not as it should be.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// A word that stays the same for this kind.
    pub kind: &'static str,
    /// Whether it only informs: then it is no reason to wake anybody.
    pub is_note: bool,
    /// The server, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What is so.
    pub what: String,
    /// What it means.
    pub means: String,
    /// What to do.
    pub cure: String,
    /// The keys, if it is about keys.
    #[serde(flatten)]
    pub keys: Option<Keys>,
}

/// How sure it is that a key is stuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// It was proven while it was watched.
    Stuck,
    /// The library that makes such keys gives each a TTL.
    Looks,
    /// Many such keys are as they should be.
    #[default]
    May,
}

impl FindingState {
    /// By what is known of a key, and what was seen of it.
    pub fn of(known: &Recognised, track: &Track) -> FindingState {
        match (track.is_proven(), known.doubt) {
            (true, _) => FindingState::Stuck,
            (false, Doubt::Looks) => FindingState::Looks,
            (false, Doubt::May) => FindingState::May,
        }
    }

    /// The verb for so many keys.
    pub fn words(self, count: u64) -> &'static str {
        match (self, count) {
            (FindingState::Stuck, 1) => "is stuck",
            (FindingState::Stuck, _) => "are stuck",
            (FindingState::Looks, 1) => "looks stuck",
            (FindingState::Looks, _) => "look stuck",
            (FindingState::May, _) => "may be stuck",
        }
    }
}

/// Keys of one pattern.
#[derive(Clone, Debug, Serialize)]
pub struct Keys {
    /// Whose they are.
    pub family: &'static str,
    /// Their names, with `*` for what differs.
    pub pattern: String,
    /// How many.
    pub count: u64,
    /// Some of them, as a terminal may show them, with what they hold.
    pub examples: Vec<String>,
    /// Whether they are stuck, or only look so.
    pub state: FindingState,
    /// What proves that, or why it is not proven.
    pub why: &'static str,
    /// What `--fix` does; none if it leaves them alone.
    pub fix: Option<Fix>,
}

/// The TTL that keys get.
#[derive(Clone, Debug, Serialize)]
pub struct Fix {
    /// The shortest, in milliseconds.
    pub shortest_ms: u64,
    /// The longest.
    pub longest_ms: u64,
    /// What tells it.
    pub by: &'static str,
}

impl Finding {
    /// Something about a server.
    pub fn of_node(kind: &'static str, node: &str, what: String, means: &str, cure: &str) -> Finding {
        let (node, means, cure) = (Some(node.to_owned()), means.to_owned(), cure.to_owned());
        Finding { kind, is_note: false, node, what, means, cure, keys: None }
    }

    /// The same as a mere note.
    pub fn noted(self) -> Finding {
        Finding { is_note: true, ..self }
    }
}
