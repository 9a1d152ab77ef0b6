//! The table: who finds which place in it, from several threads and processes, killed ones too, and what is read of it.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::breakers::{BreakerGauge, Trouble};
use super::counted::OF_CALLS;
use super::exposition::text;
use super::snapshot::{Snapshot, of};
use super::stripes::{STRIPES, Stripes, add, observe, sums};
use super::table::{
    CACHES, CounterTable, FILE_WORDS, FIXED, FORMAT, LIMITER, LIMITERS, NAME, NAME_BYTES, SERVERS, SMALL, STOCKS, WORDS,
};
use crate::base::error::{Code, Error};
use crate::base::shared;
use crate::call::breaker::{Breaker, RefusalBreaker, Scope};

fn table() -> CounterTable {
    CounterTable::new(shared::map(WORDS, true).unwrap()).unwrap()
}

fn limiter(table: CounterTable, name: &str) -> &'static Stripes<LIMITER> {
    table.series(&LIMITERS, name.as_bytes())
}

/// How many decisions of the first kind are counted under this name.
fn counted(snapshot: &Snapshot, name: &str) -> u64 {
    snapshot.number("quotalock_decisions_total", &[("limiter", name), ("result", "allowed"), ("source", "redis")])
}

fn names(table: CounterTable) -> Vec<String> {
    let mut names: Vec<String> = table.all::<LIMITER>(&LIMITERS).map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Does this in a process of its own, which is ended as soon as it has, or killed if it is given a time.
fn in_a_child(then: impl Fn(), kill_after: Option<Duration>) {
    // SAFETY: the child only touches memory that was made before, and is ended at once, or by a signal.
    let child = unsafe { libc::fork() };
    if child == 0 {
        then();
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    if let Some(time) = kill_after {
        std::thread::sleep(time);
        // SAFETY: the child is ours.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    // SAFETY: the child is ours.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

#[test]
fn a_name_has_one_place_however_many_ask_for_it_at_once() {
    let table = table();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..200).for_each(|number| add(limiter(table, &format!("limiter {number}")), 0, 1)));
        }
    });
    let snapshot = of(table);
    (0..200).for_each(|number| assert_eq!(counted(&snapshot, &format!("limiter {number}")), 8));
    assert_eq!(names(table).len(), 200 + 1);
}

#[test]
fn processes_that_were_forked_count_in_one_table() {
    let table = table();
    add(limiter(table, "before"), 0, 1);
    for _ in 0..3 {
        in_a_child(|| ["before", "after"].iter().for_each(|name| add(limiter(table, name), 0, 10)), None);
    }
    assert_eq!((counted(&of(table), "before"), counted(&of(table), "after")), (31, 30));
}

#[test]
fn a_process_that_is_killed_anywhere_leaves_what_others_go_on_with() {
    let table = table();
    let all: Vec<String> =
        (0..240).map(|number| format!("a limiter whose name is long enough to take a while {number}")).collect();
    for round in 0..24 {
        let some = &all[round * 10..][..10];
        in_a_child(
            || loop {
                some.iter().for_each(|name| add(limiter(table, name), 0, 1));
            },
            Some(Duration::from_micros(37 * round as u64)),
        );
        // Nobody waits for it, and no name has two places or half of one.
        some.iter().for_each(|name| add(limiter(table, name), 1, 1));
    }
    let mut expected: Vec<String> = all.iter().cloned().chain(["other".to_owned()]).collect();
    expected.sort();
    assert_eq!(names(table), expected);
    all.iter().for_each(|name| assert_eq!(sums(limiter(table, name))[1], 1));
}

#[test]
fn a_place_whose_claimer_died_before_it_wrote_the_name_gets_it_from_the_next() {
    let words = shared::map(WORDS, true).unwrap();
    let table = CounterTable::new(words).unwrap();
    add(limiter(table, "orphan"), 0, 1);
    let lengths = words[LIMITERS.names()..LIMITERS.counters()].iter().step_by(NAME);
    lengths.for_each(|length| length.store(0, Ordering::SeqCst));
    assert_eq!(names(table), ["other"], "nobody shows what has no name");
    add(limiter(table, "orphan"), 0, 1);
    assert_eq!((names(table), counted(&of(table), "orphan")), (vec!["orphan".to_owned(), "other".into()], 2));
}

#[test]
fn names_beyond_the_last_place_are_counted_together() {
    let table = table();
    (0..LIMITERS.most + 40).for_each(|number| add(limiter(table, &number.to_string()), 0, 1));
    let snapshot = of(table);
    assert_eq!((counted(&snapshot, "0"), counted(&snapshot, "other")), (1, 40));
    add(limiter(table, "3"), 0, 1);
    assert_eq!(counted(&of(table), "3"), 2, "who has a place keeps it");
    // Other kinds of names have places of their own.
    add(table.series::<SMALL>(&CACHES, b"home"), 0, 1);
    let hit = [("cache", "home"), ("result", "hit")];
    assert_eq!(of(table).number("quotalock_cache_gets_total", &hit), 1);
}

#[test]
fn regions_do_not_overlap_and_fill_the_table() {
    let words = shared::map(WORDS, true).unwrap();
    let table = CounterTable::new(words).unwrap();
    table.fixed().iter().flatten().for_each(|word| word.store(1, Ordering::Relaxed));
    for (region, width) in [(&LIMITERS, LIMITER), (&STOCKS, SMALL), (&SERVERS, SMALL)] {
        assert_eq!(region.width, width);
        (0..region.most + 9).for_each(|number| match width {
            LIMITER => add(table.series::<LIMITER>(region, &[number as u8, 1]), LIMITER - 1, 1),
            _ => add(table.series::<SMALL>(region, &[number as u8, 1]), SMALL - 1, 1),
        });
    }
    assert!(sums(table.fixed()).iter().all(|sum| *sum == STRIPES as u64));
    let last: u64 = table.all::<SMALL>(&SERVERS).map(|(_, stripes)| sums(stripes)[SMALL - 1]).sum();
    assert_eq!(last, SERVERS.most as u64 + 9);
    assert_eq!(FIXED % 8 + LIMITER % 8 + SMALL % 8 + LIMITERS.counters() % 8 + SERVERS.counters() % 8, 0, "in lines");
    assert!(CounterTable::new(&words[1..]).is_none(), "a table is never less than whole");
}

#[test]
fn long_names_that_look_alike_are_one() {
    let table = table();
    let long = "é".repeat(NAME_BYTES);
    [format!("x{long}1"), format!("x{long}2")].iter().for_each(|name| add(limiter(table, name), 0, 1));
    // Of the letter that was cut in half nothing shows.
    assert_eq!(counted(&of(table), &format!("x{}", "é".repeat((NAME_BYTES - 1) / 2))), 2);
}

#[test]
fn a_label_cannot_leave_its_quotes() {
    let table = table();
    add(limiter(table, "a\"b\\c\n\u{7}\u{1b}[31md"), 0, 1);
    let text = text(&of(table));
    assert!(text.contains("limiter=\"a\\\"b\\\\c\u{fffd}\u{fffd}\u{fffd}[31md\""), "{text}");
}

#[test]
fn a_histogram_counts_up_and_ends_with_all() {
    let table = table();
    for micros in [1, 100, 101, 9_999_999, 10_000_001] {
        observe(table.fixed(), 0, &OF_CALLS, Duration::from_micros(micros));
    }
    let text = text(&of(table));
    for line in [
        "bucket{kind=\"limiter\",le=\"0.0001\"} 2",
        "bucket{kind=\"limiter\",le=\"0.00025\"} 3",
        "bucket{kind=\"limiter\",le=\"10\"} 4",
        "bucket{kind=\"limiter\",le=\"+Inf\"} 5",
        "sum{kind=\"limiter\"} 20.000202",
        "count{kind=\"limiter\"} 5",
        "count{kind=\"lock\"} 0",
    ] {
        assert!(text.contains(&format!("\nquotalock_call_duration_seconds_{line}\n")), "{line} is not in {text}");
    }
}

#[test]
fn a_breaker_is_open_until_it_is_said_to_be_and_no_longer() {
    let table = table();
    let told = |name: &str| of(table).number(name, &[("server", "redis:6379"), ("trouble", "unreachable")]);
    let gauge = BreakerGauge::in_table(table, "redis:6379", Trouble::Unreachable);
    assert_eq!(told("quotalock_breaker_open"), 0);
    gauge.opened();
    gauge.refuse(Duration::from_secs(60));
    assert_eq!((told("quotalock_breaker_open"), told("quotalock_breaker_opened_total")), (1, 1));
    gauge.admit();
    assert_eq!(told("quotalock_breaker_open"), 0);
    // Its process is killed: what it said is over by itself.
    gauge.refuse(Duration::from_millis(1));
    std::thread::sleep(Duration::from_millis(3));
    assert_eq!(told("quotalock_breaker_open"), 0);
    // The host was started anew, and its clock with it.
    gauge.refuse(Duration::from_secs(86_400));
    assert_eq!(told("quotalock_breaker_open"), 0);
}

#[test]
fn a_file_is_joined_by_all_of_this_version_and_by_nobody_else() {
    use std::os::unix::fs::PermissionsExt;

    let folder = std::env::temp_dir().join(format!("quotalock-metrics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("metrics");
    let join = |path: &Path| match shared::join(Some(path), &FORMAT, FILE_WORDS) {
        (Some((words, _)), None) => Ok(CounterTable::new(words).unwrap()),
        (_, problem) => Err::<CounterTable, Error>(problem.unwrap()),
    };
    let [one, other] = [join(&path), join(&path)].map(Result::unwrap);
    add(limiter(one, "shared"), 0, 1);
    add(limiter(other, "shared"), 0, 1);
    assert_eq!(counted(&of(one), "shared"), 2);
    let refused = |path: &Path| join(path).err().unwrap().message().to_owned();
    let copy = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(&path).unwrap();
        change(&mut bytes);
        std::fs::write(folder.join(name), bytes).unwrap();
        std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o600)).unwrap();
        refused(&folder.join(name))
    };
    assert!(copy("newer", &|bytes| bytes[7] += 1).contains("metrics file"));
    assert!(copy("newer", &|bytes| bytes[7] += 1).contains("is not a table of this version: remove it"));
    // Another version may have another size, and say so.
    let longer = |bytes: &mut Vec<u8>| {
        bytes.extend([0; 8]);
        let words = bytes.len() as u64 / 8;
        bytes[8..16].copy_from_slice(&words.to_le_bytes());
    };
    assert!(copy("longer", &longer).contains("is not a table of this version"));
    assert!(copy("short", &|bytes| bytes.truncate(100)).contains("is not a table of metrics"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(refused(&path).contains("is not a file of this user alone"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_breaker_counts_how_often_calls_began_to_be_refused() {
    let table = table();
    let gauge = |trouble| BreakerGauge::in_table(table, "redis:6379", trouble);
    let (breaker, refusals) =
        (Breaker::with_gauge(gauge(Trouble::Unreachable)), RefusalBreaker::with_gauge(gauge(Trouble::Refusing)));
    let down = Error::new(Code::Unavailable, "down");
    (0..2).for_each(|_| breaker.failure(Duration::ZERO, &down));
    breaker.success();
    breaker.failure(Duration::ZERO, &down);
    refusals.refused(Scope::All, &down);
    let opened =
        |trouble| of(table).number("quotalock_breaker_opened_total", &[("server", "redis:6379"), ("trouble", trouble)]);
    assert_eq!(["unreachable", "refusing"].map(opened), [2, 1]);
}
