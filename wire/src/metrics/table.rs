//! The table: names are given a place in it once, and counted in from then on.

use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{FIXED, NAME, NAME_BYTES, Region, WORDS};
use super::stripes::{STRIPES, Stripes};
use crate::base::hash::hash;

/// What is counted under it has no place of its own.
pub(super) const OTHER: &str = "other";

/// A table in this memory.
#[derive(Clone, Copy)]
pub struct CounterTable(&'static [AtomicU64]);

impl CounterTable {
    /// None if that is too little.
    pub(crate) fn new(words: &'static [AtomicU64]) -> Option<CounterTable> {
        words.get(..WORDS).map(CounterTable)
    }

    /// The counters that have no name.
    pub(crate) fn fixed(self) -> &'static Stripes<FIXED> {
        stripes(self.0)
    }

    /// The counters of a name, which is given a place if it has none and there is one left.
    ///
    /// A place is claimed by one exchange of its hash, and the name is written after it by everybody who comes by and does not
    /// find it, all the same bytes: whoever is killed in between is completed by the next.
    pub(super) fn series<const W: usize>(self, region: &Region, name: &[u8]) -> &'static Stripes<W> {
        let at = self.find_or_claim(region, name);
        if let Some(at) = at {
            self.write_name(region, at, name);
        }
        self.counters(region, at.unwrap_or(region.most))
    }

    fn find_or_claim(self, region: &Region, name: &[u8]) -> Option<usize> {
        // Nobody aims at a place: names are the developer's.
        let own = hash([0, 0], name)[0].max(1);
        let hashes = &self.0[region.start..][..region.most];
        (0..region.most).map(|step| (own as usize).wrapping_add(step) % region.most).find(|at| {
            let taken = match hashes[*at].load(Ordering::Relaxed) {
                0 => hashes[*at]
                    .compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed)
                    .unwrap_or_else(|other| other),
                taken => taken,
            };
            taken == 0 || taken == own
        })
    }

    fn write_name(self, region: &Region, at: usize, name: &[u8]) {
        let words = self.name(region, at);
        if words[0].load(Ordering::Acquire) != 0 {
            return;
        }
        let name = &name[..name.len().min(NAME_BYTES)];
        for (word, bytes) in words[1..].iter().zip(name.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        words[0].store(name.len() as u64 + 1, Ordering::Release);
    }

    fn name(self, region: &Region, at: usize) -> &'static [AtomicU64] {
        &self.0[region.names() + at * NAME..][..NAME]
    }

    fn counters<const W: usize>(self, region: &Region, at: usize) -> &'static Stripes<W> {
        stripes(&self.0[region.counters() + at * W * STRIPES..])
    }

    /// Every name with its counters, and what has no place of its own as `other`. Two long names may look alike.
    pub(super) fn all<const W: usize>(
        self,
        region: &Region,
    ) -> impl Iterator<Item = (String, &'static Stripes<W>)> + '_ {
        let named = move |at| Some((self.text(region, at)?, self.counters(region, at)));
        (0..region.most).filter_map(named).chain([(OTHER.to_owned(), self.counters(region, region.most))])
    }

    /// A name as a label shows it; none if there is none.
    fn text(self, region: &Region, at: usize) -> Option<String> {
        let words = self.name(region, at);
        let length = words[0].load(Ordering::Acquire).checked_sub(1)?;
        let bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let bytes = &bytes[..NAME_BYTES.min(length as usize)];
        // Of one that was cut, the last letter may be half of one.
        let whole = match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
            _ => bytes,
        };
        let text = String::from_utf8_lossy(whole);
        Some(text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect())
    }
}

/// The stripes at the start of these words.
fn stripes<const W: usize>(words: &'static [AtomicU64]) -> &'static Stripes<W> {
    let (rows, _) = words.as_chunks::<W>();
    let (stripes, _) = rows.as_chunks::<STRIPES>();
    &stripes[0]
}
