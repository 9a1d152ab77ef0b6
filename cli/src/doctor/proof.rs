//! Whether a key is proven to be stuck, by what several looks at it show.

use super::words::integer;

/// A record that states when it ended is believed so many milliseconds later: clocks differ.
const SLACK_MS: u64 = 60_000;
/// How often a counter must be seen counted on: once may be a correction by hand.
const MOVES: u8 = 2;

/// What was seen of a key's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueView {
    /// The first bytes of a text.
    Text(Vec<u8>),
    /// A sorted set with Symfony's mark: when its lease ended, in milliseconds since the epoch; none if its record states no such time.
    Marked(Option<u64>),
    /// Another type: its name, and the first element of a list or sorted set.
    Other(Vec<u8>, Vec<u8>),
}

impl ValueView {
    /// The number that it is.
    pub fn number(&self) -> Option<i64> {
        match self {
            ValueView::Text(value) => integer(value),
            _ => None,
        }
    }

    /// What Redis calls its type; empty if that is not known.
    pub fn redis_type(&self) -> &[u8] {
        match self {
            ValueView::Text(_) => b"string",
            ValueView::Marked(_) => b"zset",
            ValueView::Other(kind, _) => kind,
        }
    }

    /// When its own record says that it ended, in milliseconds since the epoch.
    pub fn ended_at(&self) -> Option<u64> {
        match self {
            ValueView::Marked(ends) => *ends,
            ValueView::Text(_) => self.number().and_then(|seconds| u64::try_from(seconds).ok())?.checked_mul(1_000),
            ValueView::Other(..) => None,
        }
    }
}

/// What proves that a key of a family is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing that can be seen from outside: why.
    Never(&'static str),
    /// It is below zero, and is counted further down.
    Falls,
    /// It is at this limit or above, and is counted on.
    Refuses(i64),
    /// The user named it as a limiter's, and it is counted on: up, or further below zero.
    Counts,
    /// Its own record says that it ended.
    Ended,
    /// Its value has our format, which states its times.
    Own,
}

impl Proof {
    /// What was seen, as the report states it.
    pub fn words(self) -> &'static str {
        match self {
            Proof::Never(why) => why,
            Proof::Falls => "while it was watched it was counted further down below zero",
            Proof::Refuses(_) => "its limit is reached, and while it was watched it was counted on: calls are denied",
            Proof::Counts => "you named it with --also, and while it was watched it was counted on",
            Proof::Ended => "the time at which it ends by its own record is over",
            Proof::Own => "its value has Quotalock's format, and states its own times",
        }
    }

    /// Why it is not proven, after looks of which the last saw this.
    fn missing(self, last: &ValueView) -> &'static str {
        match self {
            Proof::Never(why) => why,
            Proof::Refuses(limit) if last.number().is_none_or(|number| number < limit) => {
                "its limit is not reached: no call is denied yet"
            }
            Proof::Ended if last.ended_at().is_none() => {
                "its record states no time in milliseconds, so that its end is unknown"
            }
            Proof::Falls => "it was not counted further down while it was watched: nobody used it, or nobody is denied",
            Proof::Refuses(_) => "it was not counted on beyond its limit while it was watched",
            Proof::Counts => "it was not counted on while it was watched",
            Proof::Ended => "by its own record its time is not over, or for less than a minute",
            Proof::Own => "it was not looked at again",
        }
    }
}

/// What the looks at one key have shown so far.
#[derive(Clone, Debug)]
pub struct Track {
    /// What would prove it.
    pub proof: Proof,
    /// What the last look saw.
    pub last: ValueView,
    moves: u8,
    looks: u8,
    against: Option<&'static str>,
}

impl Track {
    /// After the first look.
    pub fn new(proof: Proof, seen: ValueView) -> Track {
        Track { proof, last: seen, moves: 0, looks: 1, against: None }
    }

    /// Takes in another look at the key, which still has no TTL; by the server's clock, in milliseconds since the epoch.
    pub fn look(&mut self, seen: ValueView, now_ms: u64) {
        self.looks = self.looks.saturating_add(1);
        if self.is_same_or_moved(&seen) {
            let has_moved = match self.proof {
                Proof::Ended => seen.ended_at().is_some_and(|ends| ends.saturating_add(SLACK_MS) < now_ms),
                Proof::Own => true,
                Proof::Refuses(limit) => self.last != seen && self.last.number().is_some_and(|number| number >= limit),
                _ => self.last != seen,
            };
            self.moves = self.moves.saturating_add(u8::from(has_moved));
        } else if !matches!(self.proof, Proof::Never(_)) {
            self.against = Some("it changed as no stuck key does: back, or to another value");
        }
        self.last = seen;
    }

    /// Whether a look shows the same value, or one to which only the fault that is to be proven leads.
    pub fn is_same_or_moved(&self, seen: &ValueView) -> bool {
        let numbers = self.last.number().zip(seen.number());
        match self.proof {
            Proof::Falls => numbers.is_some_and(|(old, new)| new <= old && old < 0),
            Proof::Refuses(_) => numbers.is_some_and(|(old, new)| new >= old),
            Proof::Counts => numbers.is_some_and(|(old, new)| if old < 0 { new <= old } else { new >= old }),
            Proof::Ended | Proof::Own | Proof::Never(_) => *seen == self.last,
        }
    }

    /// Whether more looks may change what is known.
    pub fn is_decided(&self) -> bool {
        self.against.is_some() || self.is_proven() || matches!(self.proof, Proof::Never(_))
    }

    /// Whether it is proven to be stuck.
    pub fn is_proven(&self) -> bool {
        let enough = match self.proof {
            Proof::Never(_) => return false,
            Proof::Ended | Proof::Own => 1,
            _ => MOVES,
        };
        self.against.is_none() && self.looks > 1 && self.moves >= enough
    }

    /// What proves it, or why it is not proven.
    pub fn why(&self) -> &'static str {
        match (self.is_proven(), self.against) {
            (true, _) => self.proof.words(),
            (_, Some(against)) => against,
            _ if self.looks == 1 && !matches!(self.proof, Proof::Never(_)) => "it was looked at only once",
            _ if self.moves > 0 => "it was counted on only once while it was watched: that may be a correction by hand",
            _ => self.proof.missing(&self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Proof, Track, ValueView};

    const NOW: u64 = 1_763_900_000_000;

    fn after(proof: Proof, values: &[&str]) -> Track {
        let seen = |value: &&str| ValueView::Text(value.as_bytes().to_vec());
        let mut track = Track::new(proof, seen(&values[0]));
        values[1..].iter().for_each(|value| track.look(seen(value), NOW));
        track
    }

    #[test]
    fn only_a_counter_that_is_counted_on_is_proven_to_be_stuck() {
        for (proof, values, expected) in [
            (Proof::Falls, &["-1", "-2", "-5"][..], true),
            (Proof::Falls, &["-1", "-1", "-2", "-2", "-3"], true),
            // Once may be a correction by hand.
            (Proof::Falls, &["-1", "-2", "-2"], false),
            (Proof::Falls, &["-1"], false),
            (Proof::Falls, &["-1", "-1", "-1"], false),
            // A balance goes up as well.
            (Proof::Falls, &["-1", "-2", "-1", "-2", "-3"], false),
            (Proof::Falls, &["2", "1", "-1", "-2"], false),
            (Proof::Falls, &["-1", "-2", "x", "-3"], false),
            (Proof::Refuses(5), &["5", "6", "7"], true),
            (Proof::Refuses(5), &["3", "4", "5"], false),
            (Proof::Refuses(5), &["5", "5", "5"], false),
            (Proof::Refuses(5), &["4", "4", "5", "6", "7"], true),
            (Proof::Refuses(5), &["4", "5", "6"], false),
            (Proof::Refuses(5), &["7", "8", "1", "2"], false),
            (Proof::Counts, &["7", "8", "9"], true),
            (Proof::Counts, &["7", "6", "5"], false),
            (Proof::Counts, &["-7", "-6", "-5"], false),
            (Proof::Ended, &["1763899000", "1763899000"], true),
            (Proof::Ended, &["1763899000"], false),
            (Proof::Ended, &["1763899999", "1763899999"], false),
            (Proof::Ended, &["1763898000", "1763899000"], false),
            (Proof::Own, &["QL", "QL"], true),
            (Proof::Own, &["QL", "QLx"], false),
            (Proof::Never("why"), &["-1", "-2", "-3"], false),
        ] {
            assert_eq!(after(proof, values).is_proven(), expected, "{proof:?} {values:?}");
        }
    }

    #[test]
    fn the_reason_is_what_was_seen() {
        for (proof, values, expected) in [
            // It never changed.
            (Proof::Refuses(5), &["3", "3", "3"][..], "its limit is not reached"),
            (Proof::Refuses(5), &["3", "4", "4"], "its limit is not reached"),
            (Proof::Refuses(5), &["5", "5"], "it was not counted on beyond its limit"),
            (Proof::Refuses(5), &["5", "4"], "it changed as no stuck key does"),
            (Proof::Refuses(5), &["5", "6", "6"], "it was counted on only once"),
            (Proof::Falls, &["-1", "-1"], "it was not counted further down"),
            (Proof::Falls, &["-1", "-2"], "it was counted on only once"),
            (
                Proof::Ended,
                &["1763899999", "1763899999"],
                "by its own record its time is not over, or for less than a minute",
            ),
            (Proof::Own, &["QL"], "it was looked at only once"),
        ] {
            let why = after(proof, values).why();
            assert!(why.starts_with(expected), "{proof:?} {values:?}: {why}");
        }
        // Seconds, where Symfony writes milliseconds.
        let mut track = Track::new(Proof::Ended, ValueView::Marked(None));
        track.look(ValueView::Marked(None), NOW);
        assert!(!track.is_proven());
        assert_eq!(track.why(), "its record states no time in milliseconds, so that its end is unknown");
    }
}
