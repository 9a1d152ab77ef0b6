//! Where in the table everything lies, in words. Whatever changes here, or in the order of what is counted, is another version
//! of the file: see [`MAGIC`].

use super::stripes::STRIPES;

/// What a file with a table begins with; the last byte is the version.
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
