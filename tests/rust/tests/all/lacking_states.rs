//! As `lacking`, for the scripts of locks and caches: who lacks the right to one of the commands is told so, and then
//! nothing was changed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use quotalock::testing;
use quotalock::testing::lease::{self, Acquire, ExtendLease, ForceRelease, Inspect, QueueMode, Release};
use quotalock::testing::single_flight::{
    self, Claim, Fail, Feature, Fill, Invalidate, LoadCounters, Look, LookProgress,
};
use quotalock::{Client, Code, Error};
use quotalock_tests::operator::command;
use quotalock_tests::{client, fresh_prefix, servers};

const COMMANDS: &str = "time get set del getrange setrange strlen pexpire publish hget hset hdel hmget hscan xadd xtrim \
    xlen xrange zadd zrem zscore zrange zrank zrangebyscore zcard";
const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;

/// What a call came to.
type Outcome = Result<(), Error>;

/// What is tried: a state of a few keys, and the calls that may find it.
trait Trial {
    const NAME: &str;
    /// What its scripts call.
    const COMMANDS: &str;
    const STATES: &[&str];
    /// The calls, and whether a number is one.
    fn call(client: &Client, name: &str, number: usize) -> Option<Outcome>;
    fn prepare(client: &Client, url: &str, name: &str, state: &str);
    fn keys(client: &Client, name: &str) -> Vec<Vec<u8>>;
    /// Whether a call only frees something.
    fn frees(_: usize) -> bool {
        false
    }
    /// When the call comes.
    fn later(state: &str) -> u64;
}

/// What a server tells of a key, and for how many milliseconds it keeps it.
fn stored(url: &str, key: &[u8]) -> (Option<Vec<u8>>, i64) {
    let mut connection = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    for command in ["DUMP", "PTTL"] {
        write!(connection, "*2\r\n$4\r\n{command}\r\n${}\r\n", key.len()).unwrap();
        connection.write_all(&[key, b"\r\n"].concat()).unwrap();
    }
    let mut replies = BufReader::new(connection);
    let line = |replies: &mut BufReader<TcpStream>| -> i64 {
        let mut line = String::new();
        replies.read_line(&mut line).unwrap();
        line[1..].trim().parse().unwrap()
    };
    let value = usize::try_from(line(&mut replies)).ok().map(|size| {
        let mut value = vec![0; size + 2];
        replies.read_exact(&mut value).unwrap();
        // Without the checksum, and in any order: a hash that grows puts its fields elsewhere while it is read.
        value.truncate(size - 8);
        value.sort_unstable();
        value
    });
    (value, line(&mut replies))
}

fn try_all<T: Trial>() {
    let mut refused = 0;
    for (server, url) in servers() {
        let (prefix, address) = (fresh_prefix(T::NAME), url.trim_start_matches("redis://"));
        let own = client(&url, &prefix);
        let mut halves = BTreeSet::new();
        for lacking in T::COMMANDS.split_whitespace() {
            let user = format!("{prefix}-{lacking}");
            let mut words: Vec<String> =
                ["ACL", "SETUSER", &user, "on", ">secret", "~*", "&*", "nocommands", "+eval"].map(str::to_owned).into();
            words.push("+evalsha".into());
            words
                .extend(COMMANDS.split_whitespace().filter(|other| *other != lacking).map(|other| format!("+{other}")));
            command(&url, &words.iter().map(String::as_str).collect::<Vec<_>>());
            let poor = client(&format!("redis://{user}:secret@{address}"), &prefix);
            // That one takes long, and only one command is called at every 64th entry.
            for state in T::STATES.iter().filter(|state| lacking == "xtrim" || **state != "a ledger of 63") {
                for number in 0.. {
                    let name = format!("{lacking}-{}-{number}", state.replace(' ', "-"));
                    testing::set_time(&own, Some(START)).unwrap();
                    T::prepare(&own, &url, &name, state);
                    let keys = T::keys(&own, &name);
                    let stored = || keys.iter().map(|key| stored(&url, key)).collect::<Vec<_>>();
                    let before = stored();
                    testing::set_time(&poor, Some(T::later(state))).unwrap();
                    let Some(outcome) = T::call(&poor, &name, number) else { break };
                    let Err(error) = outcome else { continue };
                    if error.code() == Code::InvalidArgument {
                        // Nothing that this command is needed for: no such stock is open.
                        continue;
                    }
                    let place = format!("{}: call {number} of {state}, without {lacking}, on {server}", T::NAME);
                    assert_eq!(error.code(), Code::NotPermitted, "{place}: {error}");
                    refused += 1;
                    for (at, (before, after)) in before.iter().zip(stored()).enumerate() {
                        // Who waits is told at a key that lasts two seconds; who is told too often only asks once more.
                        let is_hint = keys[at].ends_with(b":wait");
                        // What is released is free, and who waits for it looks again by itself: only the hint is missing.
                        let is_freed = lacking == "publish" && T::frees(number);
                        if !is_hint && !is_freed && (before.0 != after.0 || (after.1 < 0) != (before.1 < 0)) {
                            halves.insert(format!("{place}: key {at}: {before:?} became {after:?}"));
                        }
                    }
                }
            }
        }
        assert!(
            halves.is_empty(),
            "{} half done:\n{}",
            halves.len(),
            halves.into_iter().collect::<Vec<_>>().join("\n")
        );
    }
    assert!(refused > 100, "only {refused} calls were refused");
}

struct Locks;

impl Locks {
    fn acquire(client: &Client, keys: &[Vec<u8>], id: u8, queue: QueueMode, instead_of: Option<u8>) -> Outcome {
        let call = Acquire {
            keys: keys.into(),
            id: [id; 16],
            ttl: 5 * SECOND,
            floor: 0,
            permits: 1,
            weight: 1,
            queue,
            channel: if queue == QueueMode::No { [0; 16] } else { [id; 16] },
            wake_prefix: b"wake:".as_slice().into(),
            who: b"me".as_slice().into(),
            instead_of: instead_of.map(|id| [id; 16]),
            waited: 0,
            token: 0,
            shown: "it".into(),
        };
        lease::acquire(client, call).run().map(drop)
    }
}

impl Trial for Locks {
    const NAME: &str = "locks";
    const COMMANDS: &str = "time get set del publish";
    const STATES: &[&str] = &[
        "nothing",
        "held",
        "held in both",
        "held and waited for",
        "held in both and waited for",
        "only waited for",
        "over",
    ];

    fn keys(client: &Client, name: &str) -> Vec<Vec<u8>> {
        ["a", "b"].map(|table| format!("{}:{{{name}}}:{table}", client.prefix()).into_bytes()).into()
    }

    fn later(state: &str) -> u64 {
        START + if state == "over" { 6 * SECOND } else { 1_000 }
    }

    fn frees(number: usize) -> bool {
        (5..10).contains(&number) || number == 11
    }

    fn prepare(client: &Client, _: &str, name: &str, state: &str) {
        let keys = Self::keys(client, name);
        let acquire = |keys: &[Vec<u8>], id| Self::acquire(client, keys, id, QueueMode::Order, None).unwrap();
        match state {
            "held" | "held and waited for" | "over" => acquire(&keys[1..], 1),
            "held in both" | "held in both and waited for" => acquire(&keys, 1),
            "only waited for" => acquire(&keys[..1], 3),
            _ => {}
        }
        if state.contains("waited") || state == "over" {
            acquire(&keys, 2);
        }
    }

    fn call(client: &Client, name: &str, number: usize) -> Option<Outcome> {
        let (both, shown): (Arc<[Vec<u8>]>, Arc<str>) = (Self::keys(client, name).into(), "it".into());
        let last: Arc<[Vec<u8>]> = both[1..].into();
        let wake_prefix: Arc<[u8]> = b"wake:".as_slice().into();
        let release = |keys: &Arc<[Vec<u8>]>, id, cancel| {
            let (keys, wake_prefix, shown) = (keys.clone(), wake_prefix.clone(), shown.clone());
            let call = Release { keys, id: [id; 16], cancel, permits: 1, wake_prefix, shown };
            lease::release(client, call).run().map(drop)
        };
        let acquire = |keys: &[Vec<u8>], id, queue, instead_of| Self::acquire(client, keys, id, queue, instead_of);
        Some(match number {
            0 => acquire(&both, 1, QueueMode::No, None),
            1 => acquire(&both, 2, QueueMode::Order, None),
            2 => acquire(&both, 4, QueueMode::Hint, None),
            3 => acquire(&both, 4, QueueMode::Order, Some(1)),
            4 => acquire(&last, 4, QueueMode::No, None),
            5 => release(&both, 1, 0),
            6 => release(&last, 1, 0),
            7 => release(&both, 1, SECOND),
            8 => release(&both, 2, 0),
            9 => release(&both, 4, SECOND),
            10 => {
                let extend = ExtendLease { keys: both, id: [1; 16], ttl: 9 * SECOND, shown };
                lease::extend(client, extend).run().map(drop)
            }
            11 => {
                let call = ForceRelease { keys: both, permits: 1, wake_prefix, shown };
                lease::force_release(client, call).run().map(drop)
            }
            12 => lease::inspect(client, Inspect { keys: both, shown }).run().map(drop),
            _ => return None,
        })
    }
}

#[test]
fn locks_are_not_half_changed() {
    try_all::<Locks>();
}

struct Caches;

impl Caches {
    fn look(client: &Client, keys: &[[Vec<u8>; 2]], id: u8) -> Outcome {
        let call = Look {
            entries: keys.into(),
            id: [id; 16],
            ttl: 10 * SECOND,
            channel: Some([id; 16]),
            luck: vec![0; keys.len()],
            load_when_away: false,
            value_only: false,
            shown: "it".into(),
            feature: Feature::Cache,
            progress: LookProgress::default(),
        };
        single_flight::look(client, call).run().map(drop)
    }

    fn fill(client: &Client, keys: &[Vec<u8>; 2], token: Option<u64>, size: usize) -> Outcome {
        let call = Fill {
            keys: keys.clone(),
            id: [1; 16],
            token,
            ttl: 10 * SECOND,
            fresh: SECOND,
            stale: 60 * SECOND,
            value: Some(vec![b'v'; size]),
            wake_prefix: b"wake:".as_slice().into(),
            shown: "it".into(),
            feature: Feature::Cache,
        };
        single_flight::fill(client, call).run().map(drop)
    }

    fn fail(client: &Client, keys: &[Vec<u8>; 2], pause: u64) -> Outcome {
        let (keys, error, shown) = (keys.clone(), "no such table".into(), "it".into());
        let wake_prefix = b"wake:".as_slice().into();
        let call =
            Fail { keys, id: [1; 16], pause, error, is_known: false, wake_prefix, shown, feature: Feature::Cache };
        single_flight::fail(client, call).run().map(drop)
    }

    fn claim(client: &Client, key: &[u8]) -> Outcome {
        let call = Claim {
            key: key.to_vec(),
            id: [3; 16],
            ttl: 60 * SECOND,
            value: Some(b"mine".to_vec()),
            shown: "it".into(),
            counters: LoadCounters::default(),
        };
        single_flight::claim(client, call).run().map(drop)
    }

    fn pairs(client: &Client, name: &str) -> [[Vec<u8>; 2]; 2] {
        let [a, b, c, d] = Self::keys(client, name).try_into().unwrap();
        [[a, b], [c, d]]
    }
}

impl Trial for Caches {
    const NAME: &str = "caches";
    const COMMANDS: &str = "time get set del getrange setrange strlen pexpire publish";
    const STATES: &[&str] = &[
        "nothing",
        "fresh",
        "stale",
        "large",
        "loading",
        "waited for",
        "stale and loading",
        "an error",
        "one of two",
        "claimed",
        "claimed by a clock ahead",
    ];

    fn keys(_: &Client, name: &str) -> Vec<Vec<u8>> {
        ["a", "a:wait", "b", "b:wait"].map(|key| format!("{{{name}}}:{key}").into_bytes()).into()
    }

    fn later(state: &str) -> u64 {
        START + if state.contains("stale") || state == "large" { 2 * SECOND } else { 1_000 }
    }

    fn prepare(client: &Client, _: &str, name: &str, state: &str) {
        let [first, second] = Self::pairs(client, name);
        if ["fresh", "stale", "large", "stale and loading"].contains(&state) {
            Self::fill(client, &first, None, if state == "large" { 5_000 } else { 5 }).unwrap();
        }
        match state {
            "loading" | "an error" | "waited for" => Self::look(client, std::slice::from_ref(&first), 1).unwrap(),
            "stale and loading" => {
                testing::set_time(client, Some(START + 3 * SECOND / 2)).unwrap();
                Self::look(client, std::slice::from_ref(&first), 1).unwrap();
            }
            "one of two" => Self::look(client, &[second], 1).unwrap(),
            "claimed" => Self::claim(client, &first[0]).unwrap(),
            "claimed by a clock ahead" => {
                testing::set_time(client, Some(START + SECOND)).unwrap();
                Self::claim(client, &first[0]).unwrap();
            }
            _ => {}
        }
        match state {
            "an error" => Self::fail(client, &first, 60 * SECOND).unwrap(),
            "waited for" => Self::look(client, &[first], 5).unwrap(),
            _ => {}
        }
    }

    fn call(client: &Client, name: &str, number: usize) -> Option<Outcome> {
        let both = Self::pairs(client, name);
        let (keys, shown) = (both[0].clone(), "it".into());
        Some(match number {
            0 => Self::look(client, &both[..1], 2),
            1 => Self::look(client, &both, 2),
            2 => Self::look(client, &[both[1].clone(), keys], 2),
            3 => Self::look(client, &both, 1),
            4 => Self::fill(client, &keys, None, 6),
            5 => Self::fill(client, &keys, Some(START), 6),
            6 => Self::fill(client, &keys, Some(START + 3 * SECOND / 2), 6),
            7 => Self::fail(client, &keys, 0),
            8 => Self::fail(client, &keys, SECOND),
            9 => {
                let call = Invalidate {
                    keys,
                    ttl: 10 * SECOND,
                    wake_prefix: b"wake:".as_slice().into(),
                    shown,
                    feature: Feature::Cache,
                };
                single_flight::invalidate(client, call).run().map(drop)
            }
            10 => Self::claim(client, &keys[0]),
            _ => return None,
        })
    }
}

#[test]
fn caches_are_not_half_changed() {
    try_all::<Caches>();
}
