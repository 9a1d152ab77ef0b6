//! What servers say of where servers are: maps of slots, redirections, answers and news of Sentinels, roles. The first line
//! is a host map, all else replies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quotalock::testing::wire::{self, Learned, TestHostPort};

const SLOTS: usize = 16_384;
const PASSWORD: &str = "s3cr3tPW";

/// Whether a place is of those that were told of, or the one that told; `.0` are all bytes.
fn was_told(told: &[u8], (host, port): &TestHostPort) -> bool {
    let has = |part: &str| part.is_empty() || told.windows(part.len()).any(|bytes| bytes == part.as_bytes());
    // A number may have a sign or zeros before it.
    (host == "seed.test" || has(host)) && *port > 0 && has(&port.to_string())
}

fn cluster(host_map: &str, replies: &[u8], all: &[u8]) {
    let Some((learned, owners, remembered)) = wire::topology(replies, host_map) else { return };
    let (mut named, mut expected, mut moved) = (Vec::new(), vec![None; SLOTS], false);
    let mut heard_of = 0;
    for learned in &learned {
        match learned {
            Learned::Map(ranges) => {
                named.clear();
                (expected, moved, heard_of) = (vec![None; SLOTS], false, all.len());
                for (first, last, primary) in ranges {
                    expected[usize::from(*first)..=usize::from(*last)].fill(Some(primary));
                    named.push(primary);
                }
            }
            Learned::Moved(_, place) => {
                (moved, heard_of) = (true, heard_of + 1);
                named.push(place);
            }
            Learned::Asked(place) => {
                heard_of += 1;
                assert!(was_told(all, place), "{place:?}");
            }
            Learned::Nothing => {}
        }
    }
    assert!(named.iter().all(|place| was_told(all, place)), "{named:?}");
    let ends = owners.iter().skip(1).map(|(first, _)| usize::from(*first)).chain([SLOTS]);
    for ((first, owner), end) in owners.iter().zip(ends) {
        let (first, owner) = (usize::from(*first), owner.as_ref());
        assert!(owner.is_none_or(|owner| named.contains(&owner)), "slot {first} is at {owner:?}: {learned:?}");
        let fits = moved || expected[first..end].iter().all(|place| *place == owner);
        assert!(fits, "slots {first} to {end} are at {owner:?}: {learned:?}");
    }
    assert!(remembered <= heard_of, "{remembered} servers: {learned:?}");
}

fn sentinels(replies: &[u8], all: &[u8]) {
    for (answer, news, is_primary) in wire::sentinel(replies, PASSWORD) {
        assert!(!is_primary || all.windows(6).any(|bytes| bytes == b"master"));
        for place in answer.iter().chain(&news) {
            assert!(was_told(all, place), "{place:?}");
        }
        if let Err(message) = answer {
            assert!(message.len() < 1000 && !message.contains(PASSWORD), "{message}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (host_map, replies) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    if let Ok(host_map) = std::str::from_utf8(host_map) {
        cluster(host_map, replies, bytes);
    }
    sentinels(replies, bytes);
});
