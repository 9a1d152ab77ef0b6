//! Keys in this process' memory, where the twins of the scripts decide.

pub mod part;
pub mod stand_in;
pub mod store;
