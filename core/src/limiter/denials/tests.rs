use std::sync::atomic::{AtomicU64, Ordering};

use super::process::FORMAT;
use super::slots::{DenialEntry, SLOT};
use super::*;
use wire::base::shared;

const NOW: u64 = 5_000_000_000;
const SECOND: u64 = 1_000_000;

fn table(kilobytes: usize) -> &'static DenialTable {
    let words: Vec<AtomicU64> = (0..kilobytes * 128).map(|_| AtomicU64::new(0)).collect();
    Box::leak(Box::new(DenialTable::new(words.leak(), [3, 4])))
}

fn denial(cost: u64) -> Denial {
    let whole = RuleNumbers { retry_after: Some(SECOND), remaining: 1, reset_after: SECOND };
    Denial {
        cost,
        whole,
        rule_count: 1,
        rules: [whole, RuleNumbers::default(), RuleNumbers::default(), RuleNumbers::default()],
    }
}

/// Has a denial remembered that was asked for and answered at once.
fn remember(shelf: &Shelf, place: DenialPlace, now: u64) {
    // The first may be that of another key in its cell.
    for _ in 0..2 {
        let mark = shelf.mark(place, Frees::Nothing, now, SECOND);
        shelf.answered(place, &mark, false, now);
        shelf.remember(place, &mark, denial(1), SECOND, now);
    }
}

/// The entry of this id, if one is whole.
fn read(words: &[AtomicU64; SLOT], id: [u64; 2]) -> Option<DenialEntry> {
    let mut entry = DenialEntry::default();
    entry.read(words, id).then_some(entry)
}

/// What is remembered of a cost of 1.
fn found(shelf: &Shelf, place: DenialPlace, now: u64) -> Option<Denial> {
    shelf.with_denial(place, 1, SECOND, || now, |denial, _| Some(*denial))
}

fn is_known(shelf: &Shelf, place: DenialPlace, now: u64) -> bool {
    found(shelf, place, now).is_some()
}

#[test]
fn a_call_that_was_under_way_or_unanswered_when_it_was_asked_spoils_a_denial() {
    let shelf = table(64).shelf("server", b"stem", 7);
    let place = shelf.place(b"k");
    remember(&shelf, place, NOW);
    assert!(is_known(&shelf, place, NOW + 1));
    let reset = shelf.mark(place, Frees::Now, NOW + 2, SECOND);
    assert!(!is_known(&shelf, place, NOW + 2), "announced");
    let early = shelf.mark(place, Frees::Nothing, NOW + 3, SECOND);
    shelf.remember(place, &early, denial(1), SECOND, NOW + 4);
    assert!(!is_known(&shelf, place, NOW + 4), "under way");
    shelf.answered(place, &reset, false, NOW + 5);
    shelf.remember(place, &early, denial(1), SECOND, NOW + 6);
    assert!(!is_known(&shelf, place, NOW + 6), "asked before it was answered");
    remember(&shelf, place, NOW + 7);
    assert!(is_known(&shelf, place, NOW + 8));
    // Its process is killed.
    shelf.mark(place, Frees::Now, NOW + 9, SECOND);
    let early = shelf.mark(place, Frees::Nothing, NOW + SECOND, SECOND);
    remember(&shelf, place, NOW + SECOND);
    assert!(!is_known(&shelf, place, NOW + SECOND + 1));
    let later = NOW + 2 * SECOND;
    shelf.remember(place, &early, denial(1), 9 * SECOND, later);
    assert!(!is_known(&shelf, place, later), "asked while it may have been under way");
    remember(&shelf, place, later);
    assert!(is_known(&shelf, place, later));
}

#[test]
fn of_two_under_way_both_must_be_answered() {
    let shelf = table(64).shelf("server", b"stem", 7);
    let place = shelf.place(b"k");
    remember(&shelf, place, NOW);
    let [long, short] = [9 * SECOND, SECOND].map(|timeout| shelf.mark(place, Frees::Now, NOW, timeout));
    shelf.answered(place, &long, false, NOW + 1);
    remember(&shelf, place, NOW + 2);
    assert!(!is_known(&shelf, place, NOW + 2));
    shelf.answered(place, &short, false, NOW + 3);
    remember(&shelf, place, NOW + 4);
    assert!(is_known(&shelf, place, NOW + 4));
}

#[test]
fn another_policy_drops_what_was_denied_before_and_while_it_was_asked() {
    let (one, other) = (table(64), 8);
    let (shelf, changed) = (one.shelf("server", b"stem", 7), one.shelf("server", b"stem", other));
    let place = shelf.place(b"k");
    remember(&shelf, place, NOW);
    assert!(is_known(&shelf, place, NOW) && !is_known(&changed, place, NOW));
    let mark = changed.mark(place, Frees::Nothing, NOW, SECOND);
    assert!(!is_known(&shelf, place, NOW));
    remember(&shelf, place, NOW);
    assert!(!is_known(&shelf, place, NOW), "under way");
    changed.answered(place, &mark, false, NOW);
    remember(&shelf, place, NOW);
    assert!(is_known(&shelf, place, NOW));
}

#[test]
fn a_server_that_is_named_otherwise_drops_too() {
    let one = table(64);
    let (shelf, alias) = (one.shelf("localhost", b"stem", 7), one.shelf("127.0.0.1", b"stem", 7));
    let place = shelf.place(b"k");
    remember(&shelf, place, NOW);
    assert!(is_known(&shelf, place, NOW) && !is_known(&alias, place, NOW));
    alias.mark(alias.place(b"k"), Frees::Now, NOW, SECOND);
    assert!(!is_known(&shelf, place, NOW));
}

#[test]
fn what_was_written_in_part_is_nothing() {
    let words: [AtomicU64; SLOT] = std::array::from_fn(|_| AtomicU64::new(0));
    let id = [11, 12];
    let entry = |generation, until, rule_count| {
        let whole = RuleNumbers { retry_after: Some(until), remaining: 3, reset_after: generation };
        let denial = Denial { cost: 2, whole, rule_count, rules: [whole; MOST_RULES] };
        DenialEntry { id, policy: 5, generation, asked: until - 9, until, answered: until - 8, denial }
    };
    assert_eq!(read(&words, id), None);
    let bare = |entry: &DenialEntry| {
        let mut entry = *entry;
        entry.denial.rules[entry.denial.rule_count..].fill(RuleNumbers::default());
        entry
    };
    let (old, new) = (entry(1, 1_000, 4), entry(2, 2_000, 3));
    let fresh: [AtomicU64; SLOT] = std::array::from_fn(|_| AtomicU64::new(0));
    new.write(&fresh);
    old.write(&words);
    assert_eq!(read(&words, id), Some(old));
    assert_eq!(read(&words, [11, 13]), None);
    // A writer that is ended after each word, in any order of the stores.
    for mask in 1_u32..1 << 12 {
        old.write(&words);
        let (mut is_torn, mut is_whole) = (false, true);
        for at in 0..SLOT {
            let before = words[at].load(Ordering::Relaxed);
            let after = fresh[at].load(Ordering::Relaxed);
            let is_written = at < 21 && mask >> (at % 12) & 1 == 1;
            if is_written {
                words[at].store(after, Ordering::Relaxed);
            }
            is_torn |= is_written && before != after;
            is_whole &= is_written || before == after || at >= 21;
        }
        let found = read(&words, id);
        match (is_torn, is_whole) {
            (false, _) => assert_eq!(found, Some(old)),
            (_, true) => assert_eq!(found, Some(bare(&new))),
            _ => assert_eq!(found, None, "{mask:b}"),
        }
    }
}

#[test]
fn writers_of_one_slot_at_once_leave_one_of_them_or_nothing() {
    let words: [AtomicU64; SLOT] = std::array::from_fn(|_| AtomicU64::new(0));
    let entry = |writer: u64, round: u64| {
        let whole = RuleNumbers { retry_after: Some(writer), remaining: round, reset_after: writer ^ round };
        let denial = Denial { cost: writer ^ round, whole, rule_count: 1, ..Denial::default() };
        // Two of them write of one key.
        let id = [1, writer.min(2)];
        DenialEntry { id, policy: writer, generation: round, asked: 1, until: 3, answered: 2, denial }
    };
    std::thread::scope(|scope| {
        for writer in 1..=3 {
            let words = &words;
            scope.spawn(move || (0..30_000).for_each(|round| entry(writer, round).write(words)));
        }
        (0..60_000).filter_map(|_| read(&words, [1, 2])).for_each(|read| {
            let RuleNumbers { retry_after, remaining, reset_after } = read.denial.whole;
            assert!(read.id == [1, 2] && read.policy > 1, "another key's");
            assert_eq!((retry_after, remaining), (Some(read.policy), read.generation));
            assert_eq!((read.denial.cost, reset_after), (remaining ^ read.policy, remaining ^ read.policy));
        });
    });
}

#[test]
fn a_table_that_is_full_forgets_what_ends_first_and_nothing_else_is_wrong() {
    let shelf = table(MIN_DENY_CACHE_KB as usize).shelf("server", b"stem", 7);
    let keys: Vec<DenialPlace> = (0..5_000_u32).map(|key| shelf.place(&key.to_le_bytes())).collect();
    for (at, place) in keys.iter().enumerate() {
        remember(&shelf, *place, NOW + at as u64);
        assert!(is_known(&shelf, *place, NOW + at as u64), "the newest is remembered");
    }
    let known = keys.iter().filter(|place| is_known(&shelf, **place, NOW + 5_000)).count();
    assert!(known > 0 && known <= shelf.table.slots.len(), "{known}");
}

#[test]
fn nobody_without_the_seed_knows_where_a_key_lies() {
    let words = |_| -> &'static [AtomicU64] { (0..8_192).map(|_| AtomicU64::new(0)).collect::<Vec<_>>().leak() };
    let tables = [[1, 2], [1, 3]].map(|seed| &*Box::leak(Box::new(DenialTable::new(words(seed), seed))));
    let same = (0..1_000_u32).filter(|key| {
        let [one, other] = tables.map(|table| table.shelf("s", b"t", 1).place(&key.to_le_bytes()).key);
        one[0] & 63 == other[0] & 63
    });
    assert!(same.count() < 60);
    let shelf = tables[0].shelf("s", b"t", 1);
    assert_ne!(shelf.place(b"k").key, tables[0].shelf("s", b"u", 1).place(b"k").key);
}

#[test]
fn a_clock_that_goes_back_or_was_of_another_host_makes_a_miss() {
    let shelf = table(64).shelf("server", b"stem", 7);
    let place = shelf.place(b"k");
    remember(&shelf, place, NOW);
    assert!(!is_known(&shelf, place, NOW - 1) && !is_known(&shelf, place, NOW + SECOND));
    assert!(is_known(&shelf, place, NOW + SECOND - SECOND / DRIFT - 1));
    assert!(!is_known(&shelf, place, NOW + SECOND - SECOND / DRIFT), "clocks drift");
}

#[test]
fn a_process_that_is_killed_while_it_writes_leaves_what_others_can_use() {
    let words = shared::map(2_048, true).unwrap();
    let table: &'static DenialTable = Box::leak(Box::new(DenialTable::new(words, [5, 6])));
    let shelf = table.shelf("server", b"stem", 7);
    let places: Vec<DenialPlace> = (0..40_u32).map(|key| shelf.place(&key.to_le_bytes())).collect();
    for round in 0..20 {
        // SAFETY: the child only touches the table, and is ended by a signal.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                places.iter().for_each(|place| remember(&shelf, *place, NOW));
            }
        }
        std::thread::sleep(std::time::Duration::from_micros(500 + 97 * round));
        // SAFETY: the child is ours.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        for place in &places {
            assert!(found(&shelf, *place, NOW).is_none_or(|found| found == denial(1)));
        }
        // However it ended, all go on once what it had announced is over.
        let later = NOW + (round + 1) * 3 * SECOND;
        places.iter().for_each(|place| {
            remember(&shelf, *place, later);
            assert!(is_known(&shelf, *place, later));
        });
    }
}

#[test]
fn a_child_shares_what_its_parent_made_or_begins_with_nothing() {
    for shared in [true, false] {
        let words = shared::map(2_048, shared).unwrap();
        words[9].store(77, Ordering::SeqCst);
        // SAFETY: the child only touches the memory, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let seen = words[9].load(Ordering::SeqCst);
            words[10].store(seen + 1, Ordering::SeqCst);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(seen as i32) };
        }
        let mut status = 0;
        // SAFETY: the child is ours.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(
            (libc::WEXITSTATUS(status), words[10].load(Ordering::SeqCst)),
            if shared { (77, 78) } else { (0, 0) }
        );
    }
}

#[test]
fn a_file_is_joined_by_all_who_name_it_and_by_nobody_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = std::env::temp_dir().join(format!("quotalock-denials-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("table");
    let join_sized = |path: &std::path::Path, words| match shared::join(Some(path), &FORMAT, words) {
        (Some(joined), None) => Ok(joined),
        (_, problem) => Err(problem.unwrap()),
    };
    let join = |path: &std::path::Path| join_sized(path, 64 * 128);
    let [one, other] = [join(&path), join(&path)].map(|joined| {
        let (words, seed) = joined.unwrap();
        &*Box::leak(Box::new(DenialTable::new(words, seed)))
    });
    let [shelf, alike] = [one, other].map(|table| table.shelf("server", b"stem", 7));
    remember(&shelf, shelf.place(b"k"), NOW);
    assert!(is_known(&alike, alike.place(b"k"), NOW));
    assert_eq!(join_sized(&path, 99 * 128).unwrap().0.len(), 64 * 128 - 8, "it keeps its size");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left there");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let refused = |path: &std::path::Path| join(path).err().unwrap().message().to_owned();
    let link = folder.join("link");
    symlink(&path, &link).unwrap();
    assert!(refused(&link).contains("cannot be opened"));
    assert!(refused(&folder.join("no/such")).contains("cannot be made"));
    assert!(refused(&folder).contains("deny cache file"));
    std::fs::write(folder.join("short"), b"QLdeny").unwrap();
    std::fs::set_permissions(folder.join("short"), PermissionsExt::from_mode(0o600)).unwrap();
    assert!(refused(&folder.join("short")).contains("is not a table of denials"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[7] += 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(refused(&path).contains("is not a table of this version"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(refused(&path).contains("is not a file of this user alone"));
    std::fs::remove_dir_all(&folder).unwrap();
}
