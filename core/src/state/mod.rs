//! Pure state machines, twins of their scripts: the lease table, and the single flight of a load.

pub(crate) mod lease;
pub(crate) mod single_flight;

/// Cuts a time at the latest that can be; whether it was later.
fn clamp(time: &mut u64, latest: u64) -> bool {
    let later = *time > latest;
    *time = latest.min(*time);
    later
}
