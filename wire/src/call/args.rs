//! The arguments of a call.

use super::resp;

/// Takes the arguments of a call: to count them first, since a command begins with the count, and then to write them.
pub struct Args<'a> {
    count: usize,
    out: Option<&'a mut Vec<u8>>,
}

impl<'a> Args<'a> {
    /// Only counts.
    pub(crate) fn counting() -> Args<'a> {
        Args { count: 0, out: None }
    }

    /// Writes RESP parts.
    pub(crate) fn writing(out: &'a mut Vec<u8>) -> Args<'a> {
        Args { count: 0, out: Some(out) }
    }

    /// How many came.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Gives bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.parts(1, |out| resp::part(out, bytes));
    }

    /// Gives a number, as decimal text.
    pub fn number(&mut self, number: u64) {
        self.parts(1, |out| resp::number_part(out, number));
    }

    /// Gives numbers, each an argument of its own.
    pub fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    /// So many parts, which `write` writes.
    pub fn parts(&mut self, count: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.count += count;
        if let Some(out) = &mut self.out {
            write(out);
        }
    }
}
