//! Pure state machines, twins of their scripts: the lease table, and the single flight of a load; and the purses of leased permits.

pub(crate) mod lease;
pub(crate) mod purse;
pub(crate) mod single_flight;

/// Cuts a time at the latest that can be; whether it was later.
fn clamp(time: &mut u64, latest: u64) -> bool {
    let later = *time > latest;
    *time = latest.min(*time);
    later
}
