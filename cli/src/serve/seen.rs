//! What is known of keys: the worst of each list, and counts of all.

use std::collections::{BTreeMap, HashMap};

use super::api::{CacheRow, DeniedRow, KEPT, LockRow, NAMES, OTHERS, Scan, StockRow, WithoutTtlRow};
use crate::doctor::proof::Track;

/// Where a row stands in its list: the least first, and of equals by key.
pub type Rank = (u8, u64);

/// What is known of keys.
#[derive(Default)]
pub struct KnownKeys {
    /// Who is refused, or near it.
    pub denied: Worst<DeniedRow>,
    /// Locks that somebody holds.
    pub locks: Worst<LockRow>,
    /// Sales.
    pub stocks: Worst<StockRow>,
    /// Keys that may be stuck.
    pub without_ttl: Worst<WithoutTtlRow>,
    /// What rounds have shown of those that may be proven to be stuck, with the last of these rounds.
    pub tracks: HashMap<Vec<u8>, (u64, Track)>,
    /// What this round has counted yet.
    pub counting: Counts,
    /// What the last whole round has counted.
    pub counted: Option<Counts>,
    /// Keys that were denied just now, and are looked at before the round comes by.
    pub wanted: Vec<Vec<u8>>,
    /// How far it is.
    pub scan: Scan,
    /// What the last round could not see, and why.
    pub problems: Vec<String>,
}

/// What a round counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// All keys.
    pub keys: u64,
    /// Those that may not be read.
    pub refused: u64,
    /// Keys of limiters, by name.
    pub limiters: BTreeMap<String, u64>,
    /// Keys that are refused, and those that are near it.
    pub denied: u64,
    /// Of these, those that are only near.
    pub near: u64,
    /// Locks that somebody holds.
    pub locks: u64,
    /// Who waits for one.
    pub waiters: u64,
    /// Sales.
    pub stocks: u64,
    /// Their units: available, held, sold.
    pub units: [u64; 3],
    /// Entries by cache.
    pub caches: BTreeMap<String, CacheRow>,
    /// Keys that are proven to be stuck, by the word of their family.
    pub stuck: BTreeMap<&'static str, u64>,
    /// Keys that look stuck, by the word of their family.
    pub looks_stuck: BTreeMap<&'static str, u64>,
    /// Keys that may be stuck, and may as well be as they should.
    pub may_be_stuck: u64,
}

impl KnownKeys {
    /// A round begins.
    pub fn begin(&mut self) {
        self.counting = Counts::default();
        (self.scan.running, self.scan.done_percent) = (true, 0);
    }

    /// No server can be asked: what was known may be wrong by now.
    pub fn lose(&mut self, now_ms: u64) {
        let mut scan = Scan { running: false, ..std::mem::take(&mut self.scan) };
        scan.unknown_since_ms = scan.unknown_since_ms.or(scan.at_ms).or(Some(now_ms));
        *self = KnownKeys { scan, ..KnownKeys::default() };
    }

    /// A round has ended that did not see the keys of all servers: nothing is counted, since it would look like a count of all.
    pub fn end_in_part(&mut self, round: u64, problems: Vec<String>, now_ms: u64) {
        let since = self.scan.unknown_since_ms.or(self.scan.at_ms).or(Some(now_ms));
        self.end(round, problems);
        (self.counted, self.scan.unknown_since_ms) = (None, since);
    }

    /// A round has ended: what it did not see is gone.
    pub fn end(&mut self, round: u64, problems: Vec<String>) {
        self.denied.forget(round);
        self.locks.forget(round);
        self.stocks.forget(round);
        self.without_ttl.forget(round);
        self.tracks.retain(|_, (seen, _)| *seen == round);
        self.counted = Some(std::mem::take(&mut self.counting));
        self.problems = problems;
        (self.scan.running, self.scan.unknown_since_ms) = (false, None);
    }
}

impl Counts {
    /// Counts a key of a limiter.
    pub fn limiter(&mut self, name: String) {
        *self.limiters.entry(named(&self.limiters, name)).or_default() += 1;
    }

    /// The counts of a cache.
    pub fn cache(&mut self, name: String) -> &mut CacheRow {
        let name = named(&self.caches, name);
        let row = CacheRow { name: name.clone(), ..CacheRow::default() };
        self.caches.entry(name).or_insert(row)
    }
}

/// The name under which it is counted: of too many all others are one.
pub fn named<T>(known: &BTreeMap<String, T>, name: String) -> String {
    if known.len() < NAMES || known.contains_key(&name) { name } else { OTHERS.into() }
}

/// The worst rows of a list, each by its Redis key.
pub struct Worst<Row>(HashMap<Vec<u8>, Kept<Row>>);

struct Kept<Row> {
    rank: Rank,
    round: u64,
    shard: usize,
    row: Row,
}

impl<Row> Default for Worst<Row> {
    fn default() -> Worst<Row> {
        Worst(HashMap::new())
    }
}

impl<Row> Worst<Row> {
    /// Takes in what a round saw at a key of a shard, in place of what was known of it.
    pub fn put(&mut self, key: Vec<u8>, (round, shard): (u64, usize), rank: Rank, row: Row) {
        self.0.insert(key, Kept { rank, round, shard, row });
        // Seldom, and so many at once that it costs next to nothing for each.
        if self.0.len() >= 2 * KEPT {
            self.thin();
        }
    }

    /// What was known of a key is so no longer.
    pub fn drop(&mut self, key: &[u8]) {
        self.0.remove(key);
    }

    /// Whether a key is known.
    pub fn has(&self, key: &[u8]) -> bool {
        self.0.contains_key(key)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The keys of the first rows, with their shards.
    pub fn first(&self, most: usize) -> Vec<(usize, Vec<u8>)> {
        self.sorted().into_iter().take(most).map(|(key, kept)| (kept.shard, key.clone())).collect()
    }

    /// The rows in their order, as many as are kept.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sorted().into_iter().take(KEPT).map(|(_, kept)| &kept.row)
    }

    fn sorted(&self) -> Vec<(&Vec<u8>, &Kept<Row>)> {
        let mut rows: Vec<_> = self.0.iter().collect();
        rows.sort_unstable_by_key(|(key, kept)| (kept.rank, *key));
        rows
    }

    fn thin(&mut self) {
        let mut ranks: Vec<(Rank, Vec<u8>)> = self.0.iter().map(|(key, kept)| (kept.rank, key.clone())).collect();
        ranks.sort_unstable();
        ranks.drain(..KEPT.min(ranks.len()));
        ranks.into_iter().for_each(|(_, key)| drop(self.0.remove(&key)));
    }

    fn forget(&mut self, round: u64) {
        self.0.retain(|_, kept| kept.round == round);
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, KEPT, KnownKeys, NAMES, OTHERS, Worst};

    #[test]
    fn the_worst_are_kept_and_the_others_are_not() {
        let mut worst = Worst::default();
        for number in (0..10 * KEPT as u64).rev() {
            worst.put(number.to_string().into_bytes(), (1, 0), (0, number), number);
            assert!(worst.len() < 2 * KEPT);
        }
        assert!(worst.rows().copied().eq(0..KEPT as u64));
        worst.put(b"0".to_vec(), (2, 0), (1, 0), 77);
        assert_eq!((worst.rows().next(), worst.first(1)), (Some(&1), vec![(0, b"1".to_vec())]));
    }

    #[test]
    fn what_a_round_does_not_see_is_gone() {
        let mut seen = KnownKeys::default();
        let put = |seen: &mut KnownKeys, key: &[u8], round| {
            seen.stocks.put(key.to_vec(), (round, 0), (0, 0), Default::default())
        };
        put(&mut seen, b"a", 1);
        put(&mut seen, b"b", 1);
        seen.end(1, Vec::new());
        seen.begin();
        put(&mut seen, b"b", 2);
        assert_eq!(seen.stocks.len(), 2);
        seen.end(2, Vec::new());
        assert_eq!(seen.stocks.first(9), [(0, b"b".to_vec())]);
    }

    #[test]
    fn too_many_names_are_summed_up() {
        let mut counts = Counts::default();
        (0..NAMES + 50).for_each(|number| counts.limiter(format!("l{number}")));
        counts.limiter("l0".into());
        assert_eq!((counts.limiters.len(), counts.limiters[OTHERS], counts.limiters["l0"]), (NAMES + 1, 50, 2));
    }
}
