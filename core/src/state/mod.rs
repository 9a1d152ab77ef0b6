//! Pure state machines, twins of their scripts: the lease table, and the single flight of a load.

pub(crate) mod lease;
pub(crate) mod single_flight;
