//! The right, and the duty, to load an entry.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::options::WhenAway;
use super::target::EntryTarget;
use crate::cache::single_flight::{Fail, Seen};
use wire::base::fork::generation;
use wire::call::hint::AttemptId;
use wire::call::prelude::*;
use wire::op::{self, Op};
use wire::reactor::Cleanup;

/// The longest error text that is remembered, in bytes.
const MAX_ERROR_BYTES: usize = 1_024;

/// The lease to load one entry: its holder loads, and [`fill`](Ticket::fill)s or [`fail`](Ticket::fail)s. Clones are the
/// same ticket. Dropped without either, or after a fill that failed, it frees the way for the next caller.
#[derive(Clone)]
pub struct Ticket {
    open: Arc<TicketState>,
}

struct TicketState {
    target: Arc<EntryTarget>,
    id: AttemptId,
    /// 0: there is no lease, since Redis was away.
    token: u64,
    left: u64,
    at_hand: Option<Seen>,
    /// Whether it belongs to a thread that waits for its own calls.
    here: bool,
    generation: u64,
    used: AtomicBool,
}

impl Ticket {
    pub(super) fn new(
        target: Arc<EntryTarget>,
        id: AttemptId,
        (token, left): (u64, u64),
        at_hand: Option<Seen>,
        here: bool,
    ) -> Ticket {
        let used = AtomicBool::new(token == 0);
        Ticket {
            open: Arc::new(TicketState { target, id, token, left, at_hand, here, generation: generation(), used }),
        }
    }

    /// The fencing token: larger than that of every load, store and invalidation of this key before. 0 if Redis was away.
    pub fn token(&self) -> u64 {
        self.open.token
    }

    /// The microseconds that the lease lasted when it was given; after that another may load too.
    pub fn left(&self) -> u64 {
        self.open.left
    }

    /// A value that is still of use: it is being refreshed.
    pub fn at_hand(&self) -> Option<&Seen> {
        self.open.at_hand.as_ref()
    }

    /// Describes the storing of the value (none: there is no such thing): true if it is stored, false if something newer was
    /// stored or the key was invalidated meanwhile, if it came later than ten leases, or if Redis was away when the load began.
    ///
    /// # Errors
    /// `invalid_argument` for more than [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES): nothing is done. The call fails as
    /// [`Cache::get`](crate::Cache::get) does; where [`WhenAway::Load`](crate::WhenAway::Load) is asked for, it is false in
    /// place of `unavailable` and `timeout`, and the value is its caller's all the same.
    pub fn fill(&self, value: Option<Vec<u8>>) -> Result<Op<bool>> {
        let TicketState { target, id, token, .. } = &*self.open;
        Ok(match target.fill(*id, Some(*token), value)? {
            Some(fill) => {
                Op::new(&target.spec.session, Box::new(ClosingTicket { call: fill, open: self.open.clone() }), None)
            }
            None => self.fail(None),
        })
    }

    /// Describes the end of a load that came to nothing: true if the lease had not ended yet. With a text it is remembered as
    /// long as the options say: others get it as the error `load_failed`, or the value that is at hand.
    pub fn fail(&self, error: Option<&str>) -> Op<bool> {
        let TicketState { target, id, token, .. } = &*self.open;
        let text = error.unwrap_or_default();
        let cut = (0..=text.len().min(MAX_ERROR_BYTES)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let pause = if error.is_some() { target.spec.error_ttl } else { 0 };
        let fail = Fail { is_known: *token == 0, ..target.fail(*id, pause, text[..cut].to_owned()) };
        Op::new(&target.spec.session, Box::new(ClosingTicket { call: fail, open: self.open.clone() }), None)
    }
}

impl Ticket {
    /// Stores what was loaded under tickets of one client, on this thread: it takes one round trip for all. What can be
    /// stored is stored, whatever becomes of the rest; of a value that is refused the next caller may try at once. Asks
    /// `interrupted` as [`Op::run_interruptibly`] does.
    ///
    /// # Errors
    /// The first of those of [`fill`](Ticket::fill).
    pub fn fill_all(loaded: Vec<(Ticket, Option<Vec<u8>>)>, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let tickets: Vec<Ticket> = loaded.iter().map(|(ticket, _)| ticket.clone()).collect();
        let (fills, refused) = fills(loaded.into_iter());
        let stored = op::run_all(fills, interrupted);
        leave_all(&tickets);
        match refused {
            Some(error) => Err(error),
            None => stored.into_iter().try_for_each(|stored| stored.map(drop)),
        }
    }

    /// Ends loads that came to nothing, of one client and on this thread: it takes one round trip for all; see
    /// [`fail`](Ticket::fail). What cannot be told, and not in the background either, ends with its lease.
    pub fn fail_all(tickets: &[Ticket], error: Option<&str>, interrupted: &mut dyn FnMut() -> bool) {
        op::run_all(tickets.iter().map(|ticket| ticket.fail(error)).collect(), interrupted);
        forget_all(tickets);
    }
}

/// The calls that store what was loaded, and why the first that cannot be stored is refused: its call frees the way.
pub(super) fn fills(loaded: impl Iterator<Item = (Ticket, Option<Vec<u8>>)>) -> (Vec<Op<bool>>, Option<Error>) {
    let mut refused = None;
    let fill = |(ticket, value): (Ticket, _)| {
        ticket.fill(value).unwrap_or_else(|error| {
            refused.get_or_insert(error);
            ticket.fail(None)
        })
    };
    (loaded.map(fill).collect(), refused)
}

/// Leaves the loads be whose end was not answered: to try again would keep their thread waiting.
pub(super) fn forget_all(tickets: &[Ticket]) {
    let here = tickets.iter().filter(|ticket| ticket.open.here);
    here.for_each(|ticket| ticket.open.used.store(true, Ordering::Relaxed));
}

/// Frees the ways of those whose end nobody answered, all at once: each alone would keep their thread waiting.
pub(super) fn leave_all(tickets: &[Ticket]) {
    let is_left = |ticket: &&Ticket| ticket.open.here && !ticket.open.used.swap(true, Ordering::Relaxed);
    Cleanup::send_all_here(tickets.iter().filter(is_left).map(|ticket| ticket.open.target.cleanup(ticket.open.id)));
}

/// A call that ends a ticket, if it is answered.
struct ClosingTicket<T> {
    call: T,
    open: Arc<TicketState>,
}

impl<T: Command> Command for ClosingTicket<T> {
    fn feature(&self) -> Feature {
        self.call.feature()
    }

    fn frame(&self) -> Frame<'_> {
        self.call.frame()
    }

    fn has_spare_keys(&self) -> bool {
        self.call.has_spare_keys()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.call.args(args);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.call.twin(space, now)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        self.open.used.store(true, Ordering::Relaxed);
        self.call.decode(fields, origin)
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl<T: Command> Around for ClosingTicket<T> {
    fn known(&self) -> Option<Answer> {
        self.call.around().and_then(Around::known)
    }

    fn without_redis(&self, _error: &Error) -> Option<Answer> {
        // Whoever loads when Redis is away has its value also when Redis goes away meanwhile; that it is not stored is no
        // reason to lose it.
        (self.open.target.spec.when_away == WhenAway::Load).then_some(Answer::new(false))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TicketState { target, token, at_hand, .. } = &*self.open;
        let at_hand = at_hand.is_some();
        f.debug_struct("Ticket").field("of", &target.shown).field("token", token).field("at_hand", &at_hand).finish()
    }
}

impl Drop for TicketState {
    fn drop(&mut self) {
        // What a fork inherited is its parent's.
        if *self.used.get_mut() || self.generation != generation() {
            return;
        }
        self.target.cleanup(self.id).send(self.here);
    }
}
