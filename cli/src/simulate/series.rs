//! Counts over time in bounded memory: bins that become wider when there are too many.

/// How wide bins may be, in seconds; each divides the next.
const WIDTHS: [u64; 14] =
    [1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 86_400, 604_800, 2_419_200, 14_515_200, 145_152_000];
/// How many there are at most.
const MOST: usize = 360;

/// Counts of several kinds over time. Time does not go back.
#[derive(Clone, Debug)]
pub struct Series {
    kinds: usize,
    /// Which of the widths.
    level: usize,
    /// The number of the first bin since the epoch.
    first: u64,
    /// The counts of a bin, one after another.
    counts: Vec<u64>,
}

impl Series {
    /// One without any counts.
    pub fn new(kinds: usize) -> Series {
        Series { kinds, level: 0, first: 0, counts: Vec::new() }
    }

    /// How wide a bin is, in seconds.
    pub fn width(&self) -> u64 {
        WIDTHS[self.level]
    }

    /// When the first bin begins, in seconds since the epoch.
    pub fn start(&self) -> u64 {
        self.first * self.width()
    }

    /// The counts of each bin, by kind.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.counts.chunks_exact(self.kinds)
    }

    /// The counts of the bin of a time in seconds, which is not before that of an earlier call.
    pub fn at(&mut self, seconds: u64) -> &mut [u64] {
        if self.counts.is_empty() {
            self.first = seconds / self.width();
        }
        let mut bin = (seconds / self.width()).saturating_sub(self.first) as usize;
        while bin >= MOST && self.level + 1 < WIDTHS.len() {
            self.widen();
            bin = (seconds / self.width() - self.first) as usize;
        }
        let end = (bin + 1) * self.kinds;
        if self.counts.len() < end {
            self.counts.resize(end, 0);
        }
        &mut self.counts[end - self.kinds..end]
    }

    fn widen(&mut self) {
        let ratio = WIDTHS[self.level + 1] / self.width();
        let (kinds, first) = (self.kinds, self.first / ratio);
        let bins = self.counts.len() / kinds;
        let place = |bin: usize| ((self.first + bin as u64) / ratio - first) as usize;
        let mut counts = vec![0; bins.checked_sub(1).map_or(0, |last| (place(last) + 1) * kinds)];
        for (bin, old) in self.counts.chunks_exact(kinds).enumerate() {
            let start = place(bin) * kinds;
            counts[start..start + kinds].iter_mut().zip(old).for_each(|(new, old)| *new += old);
        }
        (self.level, self.first, self.counts) = (self.level + 1, first, counts);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Series};

    #[test]
    fn counts_are_kept_whatever_the_span() {
        for step in [0, 1, 7, 100, 5_000, 86_400, 1_000_000] {
            let (mut series, start) = (Series::new(2), 1_431_857_103);
            for n in 0..2_000 {
                series.at(start + n * step)[0] += 1;
                series.at(start + n * step)[1] += n % 2;
            }
            let sums = series.bins().fold([0, 0], |sums, bin| [sums[0] + bin[0], sums[1] + bin[1]]);
            assert_eq!(sums, [2_000, 1_000], "{step}");
            assert!(series.bins().len() <= MOST, "{step}");
            assert!(series.start() <= start && start < series.start() + series.width());
            let end = series.start() + series.bins().len() as u64 * series.width();
            assert!((end - series.width()..end).contains(&(start + 1_999 * step)));
        }
    }
}
