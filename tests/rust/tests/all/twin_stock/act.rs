//! The random steps.

use proptest::prelude::*;
use quotalock::SETTLED_MEMORY;
use quotalock_tests::twins::START;

/// How many sales a case has.
pub const STOCKS: usize = 3;
const BUYERS: u8 = 4;
/// Of holds and of the time between steps, so that some are met to the microsecond; the second is how long requests
/// are remembered.
const LENGTHS: [u64; 3] = [1_000, 60_000_000, 10_000_000];
/// How long a sale can be: its `ends` is so long after the start, or never.
const SALE: u64 = 200_000_000;

/// What is done.
#[derive(Clone, Debug)]
pub enum Act {
    Open,
    /// In cases where sales are closed; else it is a look.
    Close,
    /// With other numbers than it was, or may be.
    OpenOtherwise,
    Restock(u64, Option<u8>),
    /// A buyer, how many, for how long, a request, whether it is sent again.
    Take(u8, u64, u64, Option<u8>, bool),
    TakeAll(Vec<(usize, u64)>, u8, u64, Option<u8>),
    /// Of the reservations there were, how many of the last; and which.
    Confirm(Vec<usize>),
    Cancel(Vec<usize>),
    Extend(Vec<usize>, u64),
    Status,
    List(u64),
    Persist(usize),
}

/// What is done, where and when.
#[derive(Clone, Debug)]
pub struct Step {
    /// Microseconds to go forward, or back.
    pub shift: i64,
    pub stock: usize,
    pub act: Act,
}

/// What all steps of a case share.
#[derive(Clone, Debug)]
pub struct Plan {
    pub quantity: u64,
    pub per_buyer: Option<u64>,
    pub ends: Option<u64>,
    pub prized: bool,
    /// Whether the clock may go back.
    pub stepping: bool,
    /// Whether sales are closed.
    pub closing: bool,
    /// Whether weeks may pass at once.
    pub leaping: bool,
}

/// Any plan.
pub fn plan() -> impl Strategy<Value = Plan> {
    let per_buyer = prop_oneof![Just(None), (1_u64..8).prop_map(Some)];
    let ends = prop_oneof![3 => Just(None), 1 => Just(Some(START + SALE))];
    let quantity = prop_oneof![1_u64..40, Just(1)];
    let (closing, leaping) = (prop::bool::weighted(0.35), prop::bool::weighted(0.1));
    (quantity, per_buyer, ends, any::<bool>(), any::<bool>(), closing, leaping).prop_map(
        |(quantity, per_buyer, ends, prized, stepping, closing, leaping)| Plan {
            quantity,
            per_buyer,
            ends,
            prized,
            stepping,
            closing,
            leaping,
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let hold = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..30_000_000, 1 => 30_000_000_u64..4_000_000_000];
    let n = || prop_oneof![6 => Just(1_u64), 3 => 1_u64..6, 1 => 1_u64..40];
    let request = || prop_oneof![3 => Just(None), 1 => (0_u8..4).prop_map(Some)];
    let take = (0..BUYERS, n(), hold(), request(), prop::bool::weighted(0.1));
    let subset = prop::sample::subsequence((0..STOCKS).collect::<Vec<_>>(), 1..=STOCKS).prop_shuffle();
    let items =
        (subset, prop::collection::vec(n(), STOCKS)).prop_map(|(stocks, n)| stocks.into_iter().zip(n).collect());
    let picks =
        || prop_oneof![5 => prop::collection::vec(0_usize..12, 1), 1 => prop::collection::vec(0_usize..8, 2..4)];
    prop_oneof![
        1 => Just(Act::Open),
        1 => Just(Act::Close),
        1 => Just(Act::OpenOtherwise),
        1 => (1_u64..4, prop::option::of(0_u8..3)).prop_map(|(n, request)| Act::Restock(n, request)),
        16 => take.prop_map(|(buyer, n, hold, request, again)| Act::Take(buyer, n, hold, request, again)),
        4 => (items, 0..BUYERS, hold(), request()).prop_map(|(items, buyer, hold, request)| {
            Act::TakeAll(items, buyer, hold, request)
        }),
        6 => picks().prop_map(Act::Confirm),
        5 => picks().prop_map(Act::Cancel),
        3 => (picks(), hold()).prop_map(|(picks, hold)| Act::Extend(picks, hold)),
        2 => Just(Act::Status),
        2 => (1_u64..6).prop_map(Act::List),
        1 => (0_usize..3).prop_map(Act::Persist),
    ]
}

/// Any step.
pub fn step() -> impl Strategy<Value = Step> {
    let shift = prop_oneof![
        5 => Just(0_i64),
        3 => prop::sample::select(&LENGTHS[..]).prop_map(|length| length as i64),
        1 => Just(SETTLED_MEMORY as i64),
        10 => 0_i64..1_000,
        10 => 0_i64..1_000_000,
        4 => 0_i64..10_000_000,
        1 => 0_i64..100_000_000,
        // So that sales would be forgotten if nobody asked for them.
        1 => 0_i64..2_600_000_000_000,
        1 => -20_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    (shift, 0..STOCKS, act()).prop_map(|(shift, stock, act)| Step { shift, stock, act })
}

/// The buyer of a number.
pub fn buyer(n: u8) -> Vec<u8> {
    // One that is text, one that looks like what stands beside buyers in the hash, and bytes.
    [b"user:1".to_vec(), b"p1".to_vec(), vec![0, 0xff, b'}'], b"b".to_vec()][usize::from(n)].clone()
}
