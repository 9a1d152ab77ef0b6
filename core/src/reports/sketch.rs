//! Who comes most often, in bounded memory: the sketch "space saving" of Metwally, Agrawal and El Abbadi (2005).
//!
//! It counts [`ROOM`] different ones exactly. One more takes the place of the one that came least often, and its count, which may
//! then be too high by so much. Whoever makes more than one part in [`ROOM`] of all is among those that it has, and a count less
//! what it may be too high is never too high.

/// How many it counts.
pub(super) const ROOM: usize = 128;

/// What it counts.
pub(super) struct Sketch<T> {
    /// Of each, what is compared first.
    hashes: Vec<u64>,
    counts: Vec<u64>,
    kept: Vec<SketchItem<T>>,
}

struct SketchItem<T> {
    value: T,
    over: u64,
}

/// One of those that came most often.
pub(super) struct Frequent<T> {
    pub value: T,
    /// So often it came for certain.
    pub count: u64,
    /// So much more often it may have come.
    pub over: u64,
}

impl<T> Default for Sketch<T> {
    fn default() -> Self {
        Sketch { hashes: Vec::new(), counts: Vec::new(), kept: Vec::new() }
    }
}

impl<T> Sketch<T> {
    /// Counts one with this hash: the one that `is_it`, or else a new one.
    pub fn count(&mut self, hash: u64, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
        let alike = self.hashes.iter().enumerate().filter(|(_, other)| **other == hash);
        let place = alike.map(|(at, _)| at).find(|at| is_it(&self.kept[*at].value));
        let at = place.unwrap_or_else(|| self.place_for(hash, make()));
        self.counts[at] += 1;
        &mut self.kept[at].value
    }

    /// A place for one that is new.
    fn place_for(&mut self, hash: u64, value: T) -> usize {
        let rarest = self.counts.iter().enumerate().min_by_key(|(_, count)| **count);
        match rarest.filter(|_| self.counts.len() >= ROOM) {
            Some((at, over)) => {
                self.kept[at] = SketchItem { value, over: *over };
                self.hashes[at] = hash;
                at
            }
            None => {
                self.hashes.push(hash);
                self.counts.push(0);
                self.kept.push(SketchItem { value, over: 0 });
                self.counts.len() - 1
            }
        }
    }

    /// Those that came most often for certain, the most frequent first.
    pub fn into_frequent(self, most: usize) -> Vec<Frequent<T>> {
        let all = self.counts.into_iter().zip(self.kept);
        let frequent =
            |(count, SketchItem { value, over }): (u64, SketchItem<T>)| Frequent { value, count: count - over, over };
        let mut all: Vec<Frequent<T>> = all.map(frequent).collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.count, one.over)));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(numbers: impl IntoIterator<Item = u64>) -> Vec<Frequent<u64>> {
        let mut sketch = Sketch::default();
        for number in numbers {
            // Few hashes: many collide.
            sketch.count(number % 5, |other| *other == number, || number);
        }
        sketch.into_frequent(usize::MAX)
    }

    #[test]
    fn few_are_counted_exactly() {
        let numbers = (0..ROOM as u64).flat_map(|number| std::iter::repeat_n(number, 1 + number as usize));
        let frequent = counted(numbers);
        assert_eq!(frequent.len(), ROOM);
        assert!(frequent.iter().all(|one| one.count == 1 + one.value && one.over == 0));
        assert!(frequent.is_sorted_by(|a, b| a.count > b.count));
    }

    #[test]
    fn who_comes_often_is_found_among_any_number_and_never_counted_too_high() {
        // Number 7 makes one in ten of a million, between 900,000 that come once.
        let frequent = counted((0..1_000_000).map(|turn| if turn % 10 == 0 { 7 } else { 1_000 + turn }));
        assert_eq!(frequent.len(), ROOM);
        let Frequent { value, count, over } = &frequent[0];
        assert!(*value == 7 && *count <= 100_000 && count + over >= 100_000, "{value}: {count} and {over} more");
        assert!(*count > 90_000, "{count}");
        assert!(frequent[1..].iter().all(|one| one.count <= 1));
    }
}
