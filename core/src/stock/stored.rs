//! What stands at a sale's key, told without a call.

/// How a sale's numbers begin: `form.lua` says what follows.
const MAGIC: &[u8] = b"QS\x01";
/// Their length.
const SIZE: usize = 4 + 14 * 8;

/// What a sale's numbers say. They are one field of its hash, the one with an empty name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredStock {
    /// Pieces that can be taken.
    pub available: u64,
    /// Pieces that are held, also by holds that are over and that the next call returns.
    pub held: u64,
    /// Pieces that are sold.
    pub sold: u64,
    /// Whether no more can be taken.
    pub has_ended: bool,
}

impl StoredStock {
    /// What the field says at a time of the server's clock, in microseconds; none if it is not ours.
    pub fn read(field: &[u8], now: u64) -> Option<StoredStock> {
        if field.len() != SIZE || !field.starts_with(MAGIC) {
            return None;
        }
        let number = |at: usize| {
            let bytes = field.get(4 + at * 8..12 + at * 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        // A flag beside that of prizes says that it was closed.
        let (is_closed, ends) = (field[3] > 1, number(1)?);
        Some(StoredStock {
            available: number(5)?,
            held: number(6)?,
            sold: number(7)?,
            has_ended: is_closed || ends > 0 && now >= ends,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SIZE, StoredStock};

    const NOW: u64 = 1_700_000_000_000_000;

    /// As the scripts write it; `tests/cli/test_serve.py` reads what they wrote.
    fn field(flags: u8, ends: u64, [available, held, sold]: [u64; 3]) -> Vec<u8> {
        let numbers = [0, ends, 0, 0, 0, available, held, sold, 0, 0, 0, 0, 0, 0];
        let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
        [b"QS\x01".to_vec(), vec![flags], bytes.collect()].concat()
    }

    #[test]
    fn a_sales_numbers_are_told() {
        let stored = |has_ended| StoredStock { available: 7, held: 2, sold: 1, has_ended };
        for (flags, ends, has_ended) in [(0, 0, false), (1, NOW + 1, false), (0, NOW, true), (2, 0, true), (3, 0, true)]
        {
            assert_eq!(StoredStock::read(&field(flags, ends, [7, 2, 1]), NOW), Some(stored(has_ended)));
        }
    }

    #[test]
    fn what_is_not_ours_is_none() {
        let whole = field(0, 0, [1, 2, 3]);
        assert_eq!(whole.len(), SIZE);
        for wrong in [&whole[..SIZE - 1], &[whole.clone(), vec![0]].concat(), b"", b"QS\x02", b"42"] {
            assert_eq!(StoredStock::read(wrong, NOW), None);
        }
        assert_eq!(StoredStock::read(&[b"QS\x02".as_slice(), &whole[3..]].concat(), NOW), None);
    }
}
