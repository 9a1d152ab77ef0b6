//! One call of one script, without I/O: what is sent, what comes back, and what a refusal means.

pub(crate) mod answer;
pub(crate) mod breaker;
pub(crate) mod lua;
pub(crate) mod operation;
pub(crate) mod refusal;
pub(crate) mod refusal_breaker;
pub(crate) mod resp;
pub(crate) mod script;
pub(crate) mod sink;
pub(crate) mod space;
