//! The guests of the process' thread: what a feature has it do for the callers of one client.

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::errands::Cleanup;
use crate::base::error::{Error, Result};
use crate::call::answer::{Answer, Tag};
use crate::call::hint::AttemptId;
use crate::connection::subscription::HintChannel;
use crate::machine::Task;
use crate::session::Session;
use crate::session::exchange::Exchange;

/// What somebody needs a subscription for: the client, what channels' names begin with, and the slot.
pub type Need = (Arc<Session>, Arc<[u8]>, u16);

/// Those of one client who wait for one kind of thing, and what else has to be done for them in time. No I/O: what is to be
/// sent, and who has an answer, it tells by [`Action`]s.
pub trait Guest: Any + Send {
    /// Whether there is nothing that it has to do, or expects.
    fn is_idle(&self) -> bool;
    /// Who needs a subscription.
    fn unsubscribed(&self) -> Vec<Need>;
    /// The slots in which somebody waits.
    fn slots(&self) -> HashSet<u16>;
    /// The subscription in a slot was made, or made again, or elsewhere: those who rested may have missed a hint.
    fn on_subscribed(&mut self, slot: u16, ear: HintChannel);
    /// No subscription could be made in a slot.
    fn on_not_subscribed(&mut self, slot: u16, error: &Error);
    /// The subscription in a slot has gone.
    fn on_subscription_lost(&mut self, slot: u16);
    /// A hint has come.
    fn on_hint(&mut self, id: &AttemptId);
    /// The answer to what it asked under this number.
    fn on_answer(&mut self, number: u64, answer: Result<Answer>);
    /// Does what is due.
    fn turn(&mut self, now: Instant);
    /// When to turn again if nothing else happens.
    fn next_turn(&self) -> Option<Instant>;
    /// Takes back those whose callers don't wait any more.
    fn cancel(&mut self, is_it: &dyn Fn(&Tag) -> bool);
    /// Ends everybody's wait, and has taken back what may be held: the client was closed.
    fn close(&mut self);
    /// What it wants done since the last time.
    fn take_actions(&mut self) -> Vec<Action>;
}

/// What a guest wants done.
pub enum Action {
    /// Do this; its answer comes back under this number, which the guest gives to nothing else.
    Ask(u64, Work),
    /// Send this; the answer is of no interest.
    CleanUp(Cleanup),
    /// As [`CleanUp`](Action::CleanUp), but it was just tried, and failed so.
    CleanUpLater(Cleanup, Error),
    /// Give an answer.
    Answer(Tag, Result<Answer>),
}

/// Work that takes its time.
pub enum Work {
    /// A call for the client's connection.
    Call(Exchange),
    /// Something for a thread of its own.
    Task(Task),
}
