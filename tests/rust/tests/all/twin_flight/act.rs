//! The random steps.

use proptest::prelude::*;
use quotalock::testing::TestValueKind;
use quotalock::testing::single_flight::{MAX_FRESH, MAX_LEASE, MAX_LUCK};
use quotalock_tests::twins::START;

/// How many entries a case has.
pub const ENTRIES: usize = 3;
/// How many ask.
const IDS: u8 = 6;
/// Of leases, values and the time between steps, so that some ends are met to the microsecond.
const LENGTHS: [u64; 3] = [10_000, 500_000, 2_000_000];

/// What is done.
#[derive(Clone, Debug)]
pub enum Act {
    Look {
        entries: Vec<usize>,
        id: u8,
        ttl: u64,
        channel: Option<u8>,
        luck: Vec<u64>,
    },
    /// With the token of which of the last loads; none is a put.
    Fill {
        load: Option<usize>,
        ttl: u64,
        fresh: u64,
        stale: u64,
        value: Option<(u8, usize)>,
    },
    Fail {
        load: usize,
        pause: u64,
    },
    Invalidate(u64),
    Claim {
        id: u8,
        ttl: u64,
        value: Option<u8>,
        /// Whether it is sent again, since the first reply was lost.
        again: bool,
    },
    Plant(Vec<u8>),
    /// A list of those who wait that is none of ours.
    PlantWaiters(TestValueKind, Vec<u8>),
    /// Cuts a value, or changes one of its bytes.
    Damage(usize, u8),
    Persist,
}

/// What is done, where and when.
#[derive(Clone, Debug)]
pub struct Step {
    /// Microseconds to go forward, or back.
    pub shift: i64,
    pub entry: usize,
    pub act: Act,
}

impl Step {
    /// The step in a case in which hardly anybody loads: there, claims and values that are put keep the short form.
    pub fn calm(mut self) -> Step {
        match &mut self.act {
            // Some meet the end of another to the microsecond.
            Act::Look { id: id @ 1..=2, ttl, .. } => {
                let ttl = LENGTHS[*ttl as usize % LENGTHS.len()];
                self.act = Act::Claim { id: *id, ttl, value: None, again: false };
            }
            Act::Look { id, ttl, .. } if *id > 0 => *ttl = 0,
            Act::Fill { load, fresh, stale, .. } => {
                load.take_if(|load| *load > 0);
                *stale *= *fresh % 2;
            }
            Act::Invalidate(ttl) => self.act = Act::Claim { id: 1, ttl: *ttl, value: Some(1), again: false },
            _ => {}
        }
        self
    }
}

fn act() -> impl Strategy<Value = Act> {
    let foreign = prop_oneof![
        Just(Vec::new()),
        Just(b"-37412".to_vec()),
        Just(b"QC\x01".to_vec()),
        (0_usize..3, 0_usize..3).prop_map(|(less, more)| [b"QC\x01".as_slice(), &vec![0; 113 - less + more]].concat()),
        prop::collection::vec(any::<u8>(), 100..150).prop_map(|tail| [b"QC\x01\x01", tail.as_slice()].concat()),
        // An entry of the short form, of now and then, or nearly one.
        (0_u8..4, 0..IDS, 0_u64..20_000_000, prop::sample::select(&LENGTHS[..]), 0_usize..3, any::<u8>()).prop_map(
            |(kind, n, later, fresh, less, byte)| {
                let [made, fresh] = [START + later, fresh].map(u64::to_le_bytes);
                let head = [b"QC\x01", &[128 + kind][..], &id(n), &made[..7], &fresh[..7], &[9, 0]].concat();
                [head, vec![byte; 10 - less]].concat()
            }
        ),
        Just(vec![b'x'; 5_000]),
    ];
    let length = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..3_000_000, 1 => 1_000_u64..4_000_000_000];
    let lease =
        || prop_oneof![4 => prop::sample::select(&LENGTHS[..]), 4 => 10_000_u64..5_000_000, 1 => Just(MAX_LEASE)];
    let fresh = prop_oneof![9 => length(), 1 => Just(MAX_FRESH)];
    let stale = prop_oneof![3 => Just(0), 6 => length(), 1 => Just(MAX_FRESH)];
    // Some are longer than what is read at once.
    let size = prop_oneof![20 => 0_usize..30, 1 => 3_970_usize..3_990, 1 => 4_000_usize..9_000];
    let value = prop_oneof![1 => Just(None), 5 => (any::<u8>(), size).prop_map(Some)];
    let entries = prop_oneof![
        4 => (0..ENTRIES).prop_map(|entry| vec![entry]),
        1 => prop::sample::subsequence((0..ENTRIES).collect::<Vec<_>>(), 2..=ENTRIES),
    ];
    let luck = prop_oneof![3 => Just(0), 3 => 0_u64..5_000, 1 => Just(MAX_LUCK)];
    let luck = prop::collection::vec(luck, ENTRIES);
    let look = (entries, 0..IDS, prop_oneof![1 => Just(0), 6 => lease()], prop::option::of(0..IDS), luck);
    let load = prop_oneof![6 => (0_usize..2).prop_map(Some), 2 => (0_usize..6).prop_map(Some), 1 => Just(None)];
    let claim = (0..IDS, length(), prop::option::of(any::<u8>()), prop::bool::weighted(0.3));
    let list = prop::sample::select(vec![0_usize, 5, 16, 33, 16_384, 16_400]);
    prop_oneof![
        24 => look.prop_map(|(entries, id, ttl, channel, luck)| Act::Look { entries, id, ttl, channel, luck }),
        12 => (load, lease(), fresh, stale, value).prop_map(|(load, ttl, fresh, stale, value)| {
            Act::Fill { load, ttl, fresh, stale, value }
        }),
        5 => (0_usize..3, prop_oneof![1 => Just(0), 2 => length()]).prop_map(|(load, pause)| Act::Fail { load, pause }),
        3 => lease().prop_map(Act::Invalidate),
        4 => claim.prop_map(|(id, ttl, value, again)| Act::Claim { id, ttl, value, again }),
        1 => foreign.prop_map(Act::Plant),
        1 => (any::<bool>(), list).prop_map(|(text, size)| {
            Act::PlantWaiters(if text { TestValueKind::Text } else { TestValueKind::List }, vec![b'7'; size])
        }),
        1 => (0_usize..200, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
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
        1 => 0_i64..40_000_000_000,
        1 => -2_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    (shift, 0..ENTRIES, act()).prop_map(|(shift, entry, act)| Step { shift, entry, act })
}

/// The id of a number.
pub fn id(n: u8) -> [u8; 16] {
    [n + 1; 16]
}
