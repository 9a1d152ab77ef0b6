//! Where an answer comes from.

use std::fmt;

/// Who gave the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The Redis server.
    Redis,
    /// The store of `memory://`.
    Memory,
    /// This process, from permits that it took ahead.
    Lease,
    /// This process' own memory, while Redis could not answer (`on_error = local`).
    Local,
    /// No store: Redis could not answer and `on_error = open` admits.
    Open,
    /// No store: Redis could not answer and `on_error = closed` denies.
    Closed,
    /// The Redis server a moment ago: it denied such a call, and this one cannot be admitted yet either.
    DenyCache,
}

impl Source {
    /// Every source, in the order of the documentation.
    pub const ALL: [Source; 7] =
        [Source::Redis, Source::Memory, Source::Lease, Source::Local, Source::Open, Source::Closed, Source::DenyCache];

    /// The source of that text.
    pub fn by_name(name: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.as_str() == name)
    }

    /// The text of the source, the same in every language.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Redis => "redis",
            Source::Memory => "memory",
            Source::Lease => "lease",
            Source::Local => "local",
            Source::Open => "open",
            Source::Closed => "closed",
            Source::DenyCache => "deny-cache",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
