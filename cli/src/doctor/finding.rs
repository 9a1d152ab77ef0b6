//! What was found.

use serde::Serialize;

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
