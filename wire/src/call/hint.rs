//! How one who waits is told that it is worth asking again: a hint on a channel of Redis.

/// What tells one attempt to get something from all others: who holds it, and to whom a hint is said.
pub type AttemptId = [u8; 16];
/// What a waiter listens at, without the prefix of all channels.
pub type Channel = [u8; 16];

/// What a channel begins with whose listener hears sharded messages: no other one does, and both sides see it.
pub const SHARDED: u8 = b's';
/// How scripts tell waiters, of locks and of cache entries alike.
pub const TELL: &str = include_str!("tell.lua");
