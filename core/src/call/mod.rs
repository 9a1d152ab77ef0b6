//! One call of one script, without I/O: what is sent, what comes back, and what a refusal means.

pub(crate) mod answer;
pub(crate) mod args;
pub(crate) mod breaker;
pub(crate) mod hint;
pub(crate) mod known;
pub(crate) mod lua;
pub(crate) mod operation;
pub(crate) mod refusal;
pub(crate) mod refusal_breaker;
pub(crate) mod resp;
pub(crate) mod script;
pub(crate) mod sink;
pub(crate) mod space;

/// What the definition of an operation names, for one import.
pub(crate) mod prelude {
    pub(crate) use super::answer::Answer;
    pub(crate) use super::args::Args;
    pub(crate) use super::operation::{Bundle, Effect, Frame, Operation, bytes, flag, int, odd_reply, unsigned};
    pub(crate) use super::resp::{Reply, ReplyLimit};
    pub(crate) use super::script::Script;
    pub(crate) use super::space::Space;
    pub(crate) use crate::base::decision::Source;
    pub(crate) use crate::base::error::{Error, Result};
    pub(crate) use crate::metrics::Feature;
}
