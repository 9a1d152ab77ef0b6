//! The random steps.

use proptest::prelude::*;
use quotalock::testing::lease::{ALL_PERMITS, AttemptId, MAX_FLOOR, QueueMode};
use quotalock_tests::twins::START;

/// How many tables a case has.
pub const TABLES: usize = 3;
/// How many ask.
pub const IDS: u8 = 7;
/// Of leases, of tombstones and of the time between steps, so that some are met to the microsecond; the second is how
/// long a waiter is remembered.
const LENGTHS: [u64; 3] = [1_000, 1_500_000, 2_000_000];

/// What is done.
#[derive(Clone, Debug)]
pub enum Act {
    Acquire {
        id: u8,
        ttl: u64,
        floor: u64,
        weight: Weight,
        queue: QueueMode,
        who: Vec<u8>,
        instead_of: Option<u8>,
        waited: u64,
        token: u64,
    },
    /// Whose, and for how long it stays cancelled.
    Release(u8, u64),
    Extend(u8, u64),
    /// From whom, to whom, for how long, and who that is.
    Adopt(u8, u8, u64, bool, Vec<u8>),
    ForceRelease,
    Inspect,
    Plant(Vec<u8>),
    /// Cuts a table, or changes one of its bytes.
    Damage(usize, u8),
    Persist,
}

/// How many permits are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Weight {
    Some(u64),
    All,
}

impl Weight {
    /// Of so many permits.
    pub fn of(self, permits: u64) -> u64 {
        match self {
            Weight::Some(weight) => weight,
            Weight::All => permits,
        }
    }
}

/// What is done, where and when.
#[derive(Clone, Debug)]
pub struct Step {
    /// Microseconds to go forward, or back.
    pub shift: i64,
    /// Which tables, each once.
    pub tables: Vec<usize>,
    pub act: Act,
}

/// How many permits all tables of a case have.
pub fn permits() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(1_u64), 4 => 2_u64..6, 3 => Just(ALL_PERMITS)]
}

fn act() -> impl Strategy<Value = Act> {
    let foreign = prop_oneof![
        Just(Vec::new()),
        Just(b"-37412".to_vec()),
        Just(b"QK\x01".to_vec()),
        Just(b"QK\x02aaaaaaaaaaaaaaaaaaaaaaaaa".to_vec()),
        prop::collection::vec(any::<u8>(), 0..120).prop_map(|tail| [b"QK\x01", tail.as_slice()].concat()),
        // A head that says nothing of the kind of what follows.
        (0_u8..3, 0_u8..3, prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(tombstones, waiters, tail)| {
            let head = [b"QK\x01\x05\0\0\0\0\0\0\0".as_slice(), &[tombstones * 24, 0, 0, 0, waiters, 0]].concat();
            [head, tail].concat()
        }),
    ];
    let ttl = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..5_000_000, 2 => 5_000_000_u64..4_000_000_000];
    let floor = prop_oneof![9 => Just(0_u64), 1 => START..START + 9_000_000_000, 1 => Just(MAX_FLOOR)];
    let weight =
        prop_oneof![5 => Just(Weight::Some(1)), 3 => (1_u64..6).prop_map(Weight::Some), 2 => Just(Weight::All)];
    let queue = prop_oneof![1 => Just(QueueMode::No), 2 => Just(QueueMode::Hint), 2 => Just(QueueMode::Order)];
    let who = prop_oneof![
        Just(Vec::new()),
        (0..IDS).prop_map(|n| [b"x", id(n).as_slice()].concat()),
        prop::collection::vec(any::<u8>(), 0..20),
        Just(vec![b'x'; 256])
    ];
    // Half a second is how long one who wants a hint may be overtaken.
    let waited =
        prop_oneof![6 => Just(0), 3 => 0_u64..1_000_000, 1 => prop::sample::select(vec![499_999, 500_000, 1 << 51])];
    let token = prop_oneof![12 => Just(0), 1 => START..START + 1_000_000];
    let acquire = (
        0..IDS,
        ttl(),
        floor,
        weight,
        queue,
        who,
        prop_oneof![3 => Just(None), 1 => (0..IDS).prop_map(Some)],
        waited,
        token,
    );
    let cancel = prop_oneof![12 => Just(0_u64), 1 => prop::sample::select(&LENGTHS[..]), 4 => 1_u64..2_000_000, 1 => 1_u64..3_700_000_000];
    prop_oneof![
        24 => acquire.prop_map(|(id, ttl, floor, weight, queue, who, instead_of, waited, token)| {
            Act::Acquire { id, ttl, floor, weight, queue, who, instead_of, waited, token }
        }),
        12 => (0..IDS, cancel).prop_map(|(id, cancel)| Act::Release(id, cancel)),
        5 => (0..IDS, ttl()).prop_map(|(id, ttl)| Act::Extend(id, ttl)),
        9 => (0..IDS, 0..IDS, ttl(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(id, heir, ttl, exact, who)| Act::Adopt(id, heir, ttl, exact, who)),
        1 => Just(Act::ForceRelease),
        2 => Just(Act::Inspect),
        1 => foreign.prop_map(Act::Plant),
        1 => (0_usize..400, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
        1 => Just(Act::Persist),
    ]
}

/// Any step.
pub fn step() -> impl Strategy<Value = Step> {
    let shift = prop_oneof![
        4 => Just(0_i64),
        4 => prop::sample::select(&LENGTHS[..]).prop_map(|length| length as i64),
        10 => 0_i64..1_000,
        10 => 0_i64..400_000,
        3 => 0_i64..3_000_000,
        1 => 0_i64..5_000_000_000,
        1 => -2_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    let tables = prop_oneof![
        6 => (0..TABLES).prop_map(|table| vec![table]),
        1 => prop::sample::subsequence((0..TABLES).collect::<Vec<_>>(), 2..=TABLES),
        1 => prop::sample::subsequence((0..TABLES).collect::<Vec<_>>(), 2..=TABLES).prop_shuffle(),
    ];
    (shift, tables, act()).prop_map(|(shift, tables, act)| Step { shift, tables, act })
}

/// The id of a number.
pub fn id(n: u8) -> AttemptId {
    // Bytes that also stand elsewhere in a table, and ids of which one ends as another begins.
    std::array::from_fn(|i| if i < 8 { n } else { n + 1 })
}
