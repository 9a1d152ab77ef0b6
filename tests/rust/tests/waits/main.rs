//! The tests that watch the clock: they wait more than they work, and run next to each other but not next to those in
//! `tests/all`, which take all of a processor.

mod cache;
mod credentials;
mod deadline;
mod futures;
mod handover;
mod lock_close;
mod lock_hints;
mod locks;
mod loops;
mod quorum;
mod refusing;
mod reports;
mod sentinels;
mod stray;
mod threads;

/// A file that is no module would be tested by nobody.
#[test]
fn every_file_is_a_module() {
    quotalock_tests::assert_all_are_modules("tests/waits", include_str!("main.rs"));
}
