//! Keys in this process' memory, where the twins of the scripts decide.

pub(crate) mod part;
pub(crate) mod stand_in;
pub(crate) mod store;
