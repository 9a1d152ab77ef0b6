//! The tests that may run next to each other in one process: each has keys and names of its own, and a server of its own if it
//! changes settings, fills or stops it, or has it forget its scripts. Those that watch the clock are in `tests/waits`, which need
//! little of a processor; a test that forks, moves slots or reads what a whole process or server has is a program of its own.

mod at_once;
mod bounds;
mod bundles;
mod cache_bounds;
mod cache_kept;
mod changes;
mod claims;
mod damage;
mod entry_forms;
mod formats;
mod governor;
mod lacking;
mod lacking_states;
mod lease_wake;
mod newer;
mod once;
mod oracle;
mod prefetch;
mod refusals;
mod replay;
mod rights;
mod scripts;
mod secrets;
mod stampede;
mod stock;
mod stock_bounds;
mod stock_full;
mod stock_kept;
mod stock_rights;
mod twin;
mod twin_flight;
mod twin_lease;
mod twin_log;
mod twin_stock;
mod widest;

/// A file that is no module would be tested by nobody.
#[test]
fn every_file_is_a_module() {
    quotalock_tests::assert_all_are_modules("tests/all", include_str!("main.rs"));
}
