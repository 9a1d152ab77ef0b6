//! What a feature knows of a key from Redis' last answers about it: a bounded store keeps it next to the key's value
//! (`on_error = local`).

use std::any::Any;

/// What is known of one key. Times are microseconds of a clock that never goes back.
pub trait Knowledge: Any + Send {
    /// When nothing of it counts any more.
    fn end(&self) -> u64;
    /// The largest share of a limit that is used, 0 to 255: a bounded store forgets the smallest first.
    fn share(&self, now: u64) -> u8;
    /// How many bytes it takes.
    fn size(&self) -> usize;
}

/// Changes what is known of a key, if anything is, at a time.
pub(crate) type Learn<'a> = dyn FnMut(&mut Option<Box<dyn Knowledge>>, u64) + 'a;

/// What an answer of Redis says of one key.
pub enum Lesson<'a> {
    /// The key is as new.
    Reset,
    /// It changes what is known.
    Counted(&'a mut Learn<'a>),
}
