//! What needs nothing else: errors, clocks, addresses, memory that processes share.

pub mod append_list;
pub mod clock;
pub mod credentials;
pub mod endpoint;
pub mod error;
pub mod fork;
pub mod format;
pub mod hash;
pub mod host;
pub mod outcome;
pub mod random;
pub mod shared;
pub mod source;
pub mod thread;
pub mod url;
