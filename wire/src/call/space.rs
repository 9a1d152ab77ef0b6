//! The keys that a twin may touch, whoever keeps them: all that transform a state know only this. And what a feature knows of a key from
//! Redis' last answers about it: a bounded store keeps it next to the key's value (`on_error = local`).

use std::any::Any;

use crate::base::error::Result;

/// What a twin may do with keys; the same few things as its script does.
pub trait Space {
    /// The value of a key of our own type.
    ///
    /// # Errors
    /// `wrong_type`, as Redis answers, and `newer_version` for a value of a newer format, as scripts answer.
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>>;
    /// Up to `length` bytes of a value of our own type, from a place on; what is not there is left out.
    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8];
    /// Overwrites part of a value, which grows with zeros where it is too short; its TTL becomes `ttl` milliseconds.
    fn set_range(&mut self, key: &[u8], from: u64, bytes: &[u8], ttl: u64);
    /// Sets a value that is forgotten after `ttl` milliseconds.
    fn set(&mut self, key: &[u8], value: Vec<u8>, ttl: u64);
    /// A structure of our own, for what a script keeps in more than one string.
    ///
    /// # Errors
    /// `wrong_type`, as Redis answers.
    fn object(&mut self, key: &[u8]) -> Result<Option<&mut Object>>;
    /// Sets a structure that is forgotten after `ttl` milliseconds.
    fn set_object(&mut self, key: &[u8], object: Box<Object>, ttl: u64);
    /// Sets the TTL of an existing key to `ttl` milliseconds.
    fn set_ttl(&mut self, key: &[u8], ttl: u64);
    /// Tells those who listen at a channel; in this process nobody does.
    fn publish(&mut self, _channel: &[u8], _message: &[u8]) {}
    /// Forgets a key; true if there was one.
    fn delete(&mut self, key: &[u8]) -> bool;
    /// What is known of a key from Redis' answers, and the time by which it counts; none in a space without Redis.
    fn known(&self, _key: &[u8]) -> Option<(&dyn Knowledge, u64)> {
        None
    }
    /// How much of its limits a value counts, 0 to 255: a bounded space forgets the least first.
    fn weigh(&mut self, _key: &[u8], _share: u8) {}
    /// For tests: plants a raw value without a TTL.
    fn plant(&mut self, key: &[u8], value: Planted);
    /// For tests: the milliseconds a key has left; -1 without a TTL, -2 without the key.
    fn ttl(&self, key: &[u8]) -> i64;
}

/// A structure that a twin keeps.
pub type Object = dyn Any + Send;

/// What tests put at a key.
pub enum Planted {
    /// A string.
    Text(Vec<u8>),
    /// A value of another type than ours.
    List,
    /// The value it has, without its TTL.
    Persisted,
}

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
