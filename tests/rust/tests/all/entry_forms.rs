//! The two forms of an entry's header: which one is stored, that a change of form keeps the value, and that a damaged entry of the
//! short form heals. Twin and scripts answer alike, and store the same bytes.

use std::sync::Arc;

use quotalock::testing::single_flight::{
    self, Claim, Claimed, Fail, Feature, Fill, Keys, LoadCounters, Look, LookProgress, Looked,
};
use quotalock::testing::{self, TestValueKind};
use quotalock::{Client, Result};
use quotalock_tests::twins::{START, is_for_ever, put, stored};
use quotalock_tests::{client, fresh_prefix, servers};

const SECOND: u64 = 1_000_000;
/// The longest payload behind a header of the short form.
const MOST_SHORT: usize = 4_096 - 116;

struct Side {
    client: Client,
    keys: Keys,
    shown: Arc<str>,
}

impl Side {
    fn both(url: &str) -> [Side; 2] {
        let prefix = fresh_prefix("forms");
        let key = format!("{prefix}:cache:it:{{k}}").into_bytes();
        let keys = [key.clone(), [&key[..], b":wait"].concat()];
        ["memory://", url].map(|url| Side { client: client(url, &prefix), keys: keys.clone(), shown: "it".into() })
    }

    fn at(&self, now: u64) -> &Side {
        testing::set_time(&self.client, Some(now)).unwrap();
        self
    }

    fn plant(&self, value: &[u8]) {
        put(&self.client, &self.keys[0], TestValueKind::Text, value);
    }

    fn stored(&self) -> Option<Vec<u8>> {
        stored(&self.client, &self.keys[0])
    }

    fn claim(&self, n: u8, value: Option<Vec<u8>>) -> Result<Claimed> {
        let [key, _] = self.keys.clone();
        let (shown, counters) = (self.shown.clone(), LoadCounters::default());
        single_flight::claim(&self.client, Claim { key, id: [n; 16], ttl: 60 * SECOND, value, shown, counters }).run()
    }

    fn put(&self, value: Option<Vec<u8>>, stale: u64) -> Result<bool> {
        let call = Fill {
            keys: self.keys.clone(),
            id: [0; 16],
            token: None,
            ttl: 10 * SECOND,
            fresh: 60 * SECOND,
            stale,
            value,
            wake_prefix: b"wake:".as_slice().into(),
            shown: self.shown.clone(),
            feature: Feature::Cache,
        };
        single_flight::fill(&self.client, call).run()
    }

    fn fail(&self, n: u8) -> Result<bool> {
        let call = Fail {
            keys: self.keys.clone(),
            id: [n; 16],
            pause: 0,
            error: String::new(),
            is_known: false,
            wake_prefix: b"wake:".as_slice().into(),
            shown: self.shown.clone(),
            feature: Feature::Cache,
        };
        single_flight::fail(&self.client, call).run()
    }

    fn look(&self, n: u8) -> Result<Vec<Looked>> {
        let call = Look {
            entries: [self.keys.clone()].into(),
            id: [n; 16],
            ttl: 10 * SECOND,
            channel: None,
            luck: vec![0],
            load_when_away: false,
            value_only: false,
            shown: self.shown.clone(),
            feature: Feature::Cache,
            progress: LookProgress::default(),
        };
        single_flight::look(&self.client, call).run()
    }
}

/// What both sides do, which is the same.
fn same<T: PartialEq + std::fmt::Debug>(sides: &[Side; 2], place: &str, act: impl Fn(&Side) -> Result<T>) -> T {
    let [twin, script] = sides.each_ref().map(|side| act(side).unwrap());
    assert_eq!(twin, script, "{place}");
    assert_eq!(sides[0].stored(), sides[1].stored(), "{place}");
    twin
}

/// An entry of the short form: a value that is fresh for a minute.
fn short(owner: u8, made: u64, payload: &[u8]) -> Vec<u8> {
    let [made, fresh] = [made, 60 * SECOND].map(u64::to_le_bytes);
    let size = u16::try_from(payload.len()).unwrap().to_le_bytes();
    [b"QC\x01\x81", &[owner; 16][..], &made[..7], &fresh[..7], &size, payload].concat()
}

/// One of the long form: its version, which is the last token as well, when it was made, until when it is leased, and for how long
/// it was.
fn long(owner: u8, version: u64, made: u64, (deadline, ttl): (u64, u64), payload: &[u8]) -> Vec<u8> {
    let size = payload.len() as u64;
    let numbers = [version, version, made, 60 * SECOND, 0, 0, deadline, ttl, 0, 0, 0, size].map(u64::to_le_bytes);
    [b"QC\x01\x01", &[owner; 16][..], &numbers.concat(), payload].concat()
}

#[test]
fn a_header_is_as_short_as_its_numbers_and_its_value_allow() {
    for (name, url) in servers() {
        for size in [0, 5, MOST_SHORT, MOST_SHORT + 1, 9_000] {
            let (place, value) = (format!("{size} bytes on {name}"), vec![b'v'; size]);
            let is_short = size <= MOST_SHORT;
            let sides = Side::both(&url);
            let claimed = same(&sides, &place, |side| side.at(START).claim(7, Some(value.clone())));
            assert!(claimed.first, "{place}");
            let none = (0, 0);
            let expected = if is_short { short(7, START, &value) } else { long(7, START, START, none, &value) };
            assert_eq!(sides[0].stored().unwrap(), expected, "{place}");
            // It is read as what it was, also by those who have no short cut.
            assert!(same(&sides, &place, |side| side.claim(7, None)).first, "{place}");
            let second = same(&sides, &place, |side| side.claim(8, None));
            assert_eq!((second.first, second.value.as_deref()), (false, Some(&value)), "{place}");
            let looked = same(&sides, &place, |side| side.look(1));
            assert!(matches!(&looked[..], [Looked::Seen(seen)] if seen.value.as_deref() == Some(&value)), "{place}");
            // What is put takes its place, in the form that is its own.
            let later = START + SECOND;
            same(&sides, &place, |side| side.at(later).put(Some(value.clone()), 0));
            assert_eq!(sides[0].stored().unwrap()[3], if is_short { 129 } else { 1 }, "{place}");
            same(&sides, &place, |side| side.at(later).put(None, 0));
            assert_eq!(sides[0].stored().unwrap()[3], 2, "{place}: its token is later than its time");
            same(&sides, &place, |side| side.at(later + 2).put(None, 0));
            assert_eq!(sides[0].stored().unwrap()[3], 130, "{place}");
            same(&sides, &place, |side| side.at(later + 4).put(Some(value.clone()), SECOND));
            assert_eq!(sides[0].stored().unwrap()[3], 1, "{place}: it may be stale");
        }
    }
}

#[test]
fn an_entry_of_either_form_ends_to_the_microsecond() {
    for (name, url) in servers() {
        let (sides, ends) = (Side::both(&url), START + 60 * SECOND);
        for value in [short(7, START, b"value"), long(7, START, START, (0, 0), b"value")] {
            let place = format!("{} bytes on {name}", value.len());
            let plant = || sides.iter().for_each(|side| side.plant(&value));
            plant();
            let claimed = same(&sides, &place, |side| side.at(ends - 1).claim(8, None));
            assert_eq!((claimed.first, claimed.left, claimed.age), (false, 1, 60 * SECOND - 1), "{place}");
            let looked = same(&sides, &place, |side| side.at(ends - 1).look(1));
            assert!(matches!(&looked[..], [Looked::Seen(seen)] if !seen.stale), "{place}: {looked:?}");
            assert!(same(&sides, &place, |side| side.at(ends).claim(8, None)).first, "{place}");
            plant();
            let looked = same(&sides, &place, |side| side.at(ends).look(1));
            assert!(matches!(&looked[..], [Looked::Load { at_hand: None, .. }]), "{place}: {looked:?}");
        }
    }
}

#[test]
fn a_change_of_form_keeps_the_value() {
    for (name, url) in servers() {
        for size in [0, 5, MOST_SHORT] {
            let (place, value) = (format!("{size} bytes on {name}"), vec![b'v'; size]);
            let sides = Side::both(&url);
            let plant = |value: &[u8]| sides.iter().for_each(|side| side.at(START).plant(value));
            let check = |expected: &[u8]| {
                assert_eq!(sides[0].stored().unwrap(), expected, "{place}");
                assert!(!sides.iter().any(|side| is_for_ever(&side.client, &side.keys[0])), "{place}: it has no TTL");
            };
            // A lease that ends without a value leaves nothing that needs the long form.
            plant(&long(3, START, START, (START + SECOND, SECOND), &value));
            assert!(same(&sides, &place, |side| side.fail(3)), "{place}");
            check(&short(0, START, &value));
            // A clock that went back: the version stays.
            for by_look in [true, false] {
                plant(&short(7, START + SECOND, &value));
                if by_look {
                    same(&sides, &place, |side| side.look(1));
                } else {
                    assert!(same(&sides, &place, |side| side.claim(7, None)).first, "{place}");
                }
                check(&long(7, START + SECOND, START, (0, 0), &value));
            }
            plant(&short(7, START + SECOND, &value));
            assert!(!same(&sides, &place, |side| side.fail(3)), "{place}");
            check(&long(7, START + SECOND, START, (0, 0), &value));
        }
    }
}

#[test]
fn a_damaged_short_entry_heals() {
    for (name, url) in servers() {
        let sides = Side::both(&url);
        let value = short(7, START, b"value");
        let changed = (0..value.len()).flat_map(|at| {
            let value = &value;
            [0, 1, 3, 0x7f, 0x80, 0x83, 0xff, value[at] ^ 0x80, value[at] ^ 1]
                .map(|byte| [&value[..at], &[byte], &value[at + 1..]].concat())
        });
        let cut = (0..value.len()).map(|length| value[..length].to_vec());
        let grown = [1, 80, 4_055, 4_056, 9_000].map(|more| [&value[..], &vec![0; more]].concat());
        let long_enough = [MOST_SHORT, MOST_SHORT + 1].map(|size| short(7, START, &vec![b'v'; size]));
        for damaged in changed.chain(cut).chain(grown).chain(long_enough) {
            let place = format!("{damaged:02x?} on {name}");
            let plant = || sides.iter().for_each(|side| side.at(START + SECOND).plant(&damaged));
            plant();
            let looked = same(&sides, &place, |side| side.look(1));
            if damaged.len() != value.len() && damaged.len() != 36 + MOST_SHORT {
                assert!(matches!(looked[..], [Looked::Load { at_hand: None, .. }]), "{place}: {looked:?}");
            }
            plant();
            same(&sides, &place, |side| side.claim(8, Some(b"mine".to_vec())));
            plant();
            same(&sides, &place, |side| side.fail(7));
            same(&sides, &place, |side| side.put(Some(b"other".to_vec()), 0));
            let claimed = same(&sides, &place, |side| side.claim(8, None));
            // What a clock that went back may have left is kept: a put has a larger token, unless the one there is out of reach.
            assert!(claimed.value.is_some() || claimed.first, "{place}: {claimed:?}");
        }
    }
}
