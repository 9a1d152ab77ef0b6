//! The tests that may run next to each other in one process: each has keys and names of its own, and a server of its own if it
//! changes settings, fills or stops it, or has it forget its scripts. A test that forks, moves slots or reads what a whole
//! process or server has is a program of its own, next to this folder.

mod at_once;
mod bounds;
mod bundles;
mod cache;
mod cache_alone;
mod cache_away;
mod cache_bounds;
mod cache_kept;
mod changes;
mod claims;
mod cluster;
mod credentials;
mod damage;
mod deadline;
mod futures;
mod governor;
mod handover;
mod hostile;
mod lacking;
mod lacking_states;
mod lease_wake;
mod leases;
mod lock_away;
mod lock_close;
mod lock_hints;
mod lock_waits;
mod locks;
mod loops;
mod once;
mod oracle;
mod pressure;
mod quorum;
mod refusals;
mod refusing;
mod replay;
mod reports;
mod rights;
mod scripts;
mod secrets;
mod sentinels;
mod stampede;
mod stock;
mod stock_bounds;
mod stock_full;
mod stock_kept;
mod stock_rights;
mod stray;
mod threads;
mod twin;
mod twin_flight;
mod twin_lease;
mod twin_log;
mod twin_stock;
mod widest;

/// A file that is no module would be tested by nobody.
#[test]
fn every_file_is_a_module() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    let mut modules = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        if name != "main" {
            assert!(include_str!("main.rs").contains(&format!("\nmod {name};\n")), "{name} is no module of main.rs");
            modules += 1;
        }
    }
    assert!(modules > 50, "{modules}");
}
