//! Replays how the processes of a fleet ask for the map of a cluster after a failover: those of Quotalock, by its own
//! code that chooses the moments, and those of a client that asks at once. Time is only counted, so the answer is always
//! the same.
//!
//! Three primaries, each with a replica. The first primary dies; `away` seconds later its replica takes over. Each process
//! makes calls at moments of chance to keys of all primaries. Prints how often each of the five nodes that are left was
//! asked in each quarter of a second, as JSON.

use std::time::{Duration, Instant};

use quotalock::testing::herd::MapPace;
use serde_json::{Value, json};

/// How many primaries there are, the first of which dies; and how many nodes are left. The first of those takes over, the
/// next two are the other primaries.
const PRIMARIES: u64 = 3;
const NODES: u64 = 5;
const STEPS_PER_SECOND: u64 = 4;

struct Fleet {
    processes: usize,
    calls_per_second: f64,
    away: Duration,
    watched: Duration,
}

/// Numbers that look like chance, the same each time (xorshift).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The time to the next call of a process that makes so many a second.
    fn pause(&mut self, per_second: f64) -> Duration {
        let even = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        Duration::from_secs_f64(-(1.0 - even).ln() / per_second)
    }
}

impl Fleet {
    /// How often each node was asked in each step; `paced` or at once.
    fn asked(&self, paced: bool) -> Vec<Vec<u64>> {
        let steps = (self.watched.as_secs() * STEPS_PER_SECOND) as usize;
        let mut counts = vec![vec![0; steps]; NODES as usize];
        let start = Instant::now();
        for process in 0..self.processes {
            let mut chance = Chance(0x9E37_79B9_7F4A_7C15 ^ (process as u64 + 1) << 17);
            let (pace, mut knows, mut at) = (MapPace::default(), false, Duration::ZERO);
            loop {
                at += chance.pause(self.calls_per_second);
                if at >= self.watched {
                    break;
                }
                let (now, replaced) = (start + at, at >= self.away);
                let primary = chance.next() % PRIMARIES;
                let answers = primary != 0 || replaced;
                let in_doubt = primary == 0 && !knows;
                let asks = if paced {
                    if in_doubt {
                        pace.doubt(now, chance.next() as u8);
                        // The replica that is asked in its place does what only a primary does.
                        knows = replaced;
                    }
                    answers && pace.is_due(now)
                } else {
                    in_doubt
                };
                if asks {
                    // Behind the answer, at who gave it; else at any node that works.
                    let node = if paced { primary } else { chance.next() % NODES };
                    counts[node as usize][(at.as_secs_f64() * STEPS_PER_SECOND as f64) as usize] += 1;
                    pace.on_asked(now);
                    knows |= replaced;
                }
            }
        }
        counts
    }
}

fn main() {
    let setup: Value = serde_json::from_str(&std::env::args().nth(1).unwrap()).unwrap();
    let number = |name: &str| setup[name].as_f64().unwrap();
    let fleet = Fleet {
        processes: number("processes") as usize,
        calls_per_second: number("calls_per_second"),
        away: Duration::from_secs_f64(number("away")),
        watched: Duration::from_secs_f64(number("watched")),
    };
    println!("{}", json!({ "paced": fleet.asked(true), "at_once": fleet.asked(false) }));
}
