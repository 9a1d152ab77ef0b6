//! One call of one script, without I/O: what is sent, what comes back, and what a refusal means.

pub mod answer;
pub(crate) mod breaker;
pub mod command;
pub mod hint;
pub mod lua;
pub mod refusal;
pub mod resp;
pub mod script;
pub mod space;

/// What the definition of a command names, for one import.
pub mod prelude {
    pub use super::answer::Answer;
    pub use super::command::{
        Args, Around, Bundle, Command, Effect, Frame, ReplyOrigin, bytes, flag, int, odd_reply, unsigned,
    };
    pub use super::resp::{Reply, ReplyLimit};
    pub use super::script::Script;
    pub use super::space::Space;
    pub use crate::base::error::{Error, Result};
    pub use crate::base::source::Source;
    pub use crate::metrics::Feature;
}
