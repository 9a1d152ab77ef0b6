//! The table of this process: where in it everything lies, in words; how names are given a place, once, and counted in from then on;
//! and with whom this process shares it, with what it forks, and with others by a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use once_cell::race::OnceBox;

use super::stripes::{STRIPES, Stripes};
use crate::base::error::{Error, Result};
use crate::base::fork;
use crate::base::hash::hash;
use crate::base::shared::{self, Format, SharedBy};

/// What a file with a table begins with; the last byte is the version. Whatever changes in where everything lies, or in the order
/// of what is counted, is another version.
pub(super) const MAGIC: [u8; 8] = *b"QLmetr\0\x01";

/// How many bytes of a name are kept.
pub(super) const NAME_BYTES: usize = 128;
/// A name: its length plus one, and its bytes.
pub(super) const NAME: usize = 8 * (1 + NAME_BYTES / 8).div_ceil(8);

/// Counters that have no name, in each stripe.
pub(super) const FIXED: usize = 256;
/// Counters of a limiter.
pub(super) const LIMITER: usize = 32;
/// Counters of a stock, a cache, or a `once`.
pub(super) const SMALL: usize = 8;

/// Where the series of one kind of name lie: hashes of the names, the names, and their counters.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(crate) start: usize,
    /// How many names have a series of their own. One more counts for all others.
    pub(crate) most: usize,
    pub(crate) width: usize,
}

impl Region {
    const fn after(start: usize, most: usize, width: usize) -> Region {
        Region { start, most, width }
    }

    pub(crate) const fn names(&self) -> usize {
        self.start + self.most
    }

    pub(crate) const fn counters(&self) -> usize {
        self.names() + (self.most + 1) * NAME
    }

    const fn end(&self) -> usize {
        self.counters() + (self.most + 1) * self.width * STRIPES
    }
}

pub(super) const LIMITERS: Region = Region::after(FIXED * STRIPES, 256, LIMITER);
pub(super) const STOCKS: Region = Region::after(LIMITERS.end(), 64, SMALL);
pub(super) const CACHES: Region = Region::after(STOCKS.end(), 64, SMALL);
pub(super) const ONCES: Region = Region::after(CACHES.end(), 64, SMALL);
pub(super) const SERVERS: Region = Region::after(ONCES.end(), 64, SMALL);
/// The whole table.
pub(super) const WORDS: usize = SERVERS.end();

/// What is counted under it has no place of its own.
pub(super) const OTHER: &str = "other";

/// A table in some memory.
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

/// The environment variable that names the file in which processes of this user count together.
pub const METRICS_FILE_VARIABLE: &str = "QUOTALOCK_METRICS_FILE";
/// The environment variable that switches counting off, if it is `off`. Read once.
pub const METRICS_VARIABLE: &str = "QUOTALOCK_METRICS";

/// What a file with a table is; of another size it is of another version.
pub(super) const FORMAT: Format =
    Format { magic: MAGIC, name: "metrics file", of: "metrics", sizes: 4_096..=1 << 26, is_fixed: true };
/// Words of a file, with its header.
pub(super) const FILE_WORDS: usize = WORDS + shared::HEADER;

static TABLE: OnceBox<SharedCounters> = OnceBox::new();

struct SharedCounters {
    table: Option<CounterTable>,
    place: SharedBy,
    /// Why it is not in the file that was named.
    problem: Option<Error>,
}

/// The file that the environment names, in [`METRICS_FILE_VARIABLE`].
pub fn file() -> Option<PathBuf> {
    std::env::var_os(METRICS_FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Makes the table in which this process and those that it forks from now on count: call it before workers are forked. With a file
/// all processes of this user that name it count together; put it where it is gone when the host starts anew, as in `/dev/shm`.
/// Without this call the first client makes the table, in the [`file()`] if there is one. Makes nothing where [`METRICS_VARIABLE`]
/// switches counting off.
///
/// # Errors
/// `invalid_argument` for a file that cannot be used: then the table is in memory.
pub fn prepare(file: Option<&Path>) -> Result<()> {
    TABLE.get_or_init(|| Box::new(SharedCounters::new(file))).problem.clone().map_or(Ok(()), Err)
}

/// Who counts in the same table as this process.
pub fn shared_by() -> SharedBy {
    TABLE.get().map_or(SharedBy::Nobody, |kept| kept.place)
}

/// The table of this process; none if it is off, or the system gives no memory to share.
pub fn table() -> Option<CounterTable> {
    TABLE.get_or_init(|| Box::new(SharedCounters::new(file().as_deref()))).table
}

impl SharedCounters {
    fn new(path: Option<&Path>) -> SharedCounters {
        fork::watch();
        if std::env::var_os(METRICS_VARIABLE).is_some_and(|value| value == "off") {
            return SharedCounters { table: None, place: SharedBy::Nobody, problem: None };
        }
        let (joined, problem) = shared::join(path, &FORMAT, FILE_WORDS);
        if let Some(table) = joined.and_then(|(words, _)| CounterTable::new(words)) {
            return SharedCounters { table: Some(table), place: SharedBy::File, problem };
        }
        let table = shared::map(WORDS, true).and_then(CounterTable::new);
        SharedCounters { place: if table.is_some() { SharedBy::Forks } else { SharedBy::Nobody }, table, problem }
    }
}
