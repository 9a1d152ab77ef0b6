//! The arguments of a call.

use super::resp;

/// Takes the arguments of a call: to count them first, since a command begins with the count, and then to write them.
pub(crate) struct Args<'a> {
    count: usize,
    out: Option<&'a mut Vec<u8>>,
}

impl<'a> Args<'a> {
    /// Only counts.
    pub fn counting() -> Args<'a> {
        Args { count: 0, out: None }
    }

    /// Writes RESP parts.
    pub fn writing(out: &'a mut Vec<u8>) -> Args<'a> {
        Args { count: 0, out: Some(out) }
    }

    /// How many came.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.parts(1, |out| resp::part(out, bytes));
    }

    pub fn number(&mut self, number: u64) {
        self.parts(1, |out| resp::number_part(out, number));
    }

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
