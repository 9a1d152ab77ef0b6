//! Who waits on its own thread: it rests until a hint comes, on a subscription that is kept for the next who waits.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::fork::generation;
use crate::call::hint::AttemptId;
use crate::connection::deadline::{CallDeadline, SLICE, interruption, sleep_until};
use crate::connection::subscription::{Heard, HintChannel, Subscription};
use crate::session::Session;

/// One caller's wait on its own thread. Dropped, it leaves its subscription to the next.
pub struct HintWait {
    session: Arc<Session>,
    /// What channels' names begin with.
    prefix: Arc<[u8]>,
    /// Where the key lies that it waits for.
    slot: u16,
    /// When its caller's patience is over.
    until: Instant,
    subscription: Option<Subscription>,
    generation: u64,
}

impl HintWait {
    /// Begins to wait for a key; it hears nothing yet.
    pub fn new(session: &Arc<Session>, prefix: &Arc<[u8]>, key: &[u8], until: Instant) -> HintWait {
        HintWait {
            slot: session.slot(key),
            session: session.clone(),
            prefix: prefix.clone(),
            until,
            subscription: None,
            generation: generation(),
        }
    }

    /// Where it hears hints; none if it does not listen.
    pub fn ear(&self) -> Option<HintChannel> {
        self.subscription.as_ref().and_then(|subscription| subscription.ear(self.slot))
    }

    fn is_near(&self, subscription: &Subscription) -> bool {
        subscription.ear(self.slot).is_some_and(|ear| self.session.is_near(self.slot, ear))
    }

    /// Listens if that costs nothing.
    pub fn listen_if_idle(&mut self) {
        self.subscription = self.session.engine().subscriptions.take(|one| self.is_near(one));
    }

    /// Listens from now on, where hints are said first.
    ///
    /// # Errors
    /// Those of a new connection and of SUBSCRIBE.
    pub fn listen(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        // What hears of this slot no more may still hear of others.
        self.leave();
        self.listen_if_idle();
        if self.subscription.is_none() {
            self.subscribe(interrupted)?;
        }
        Ok(())
    }

    fn subscribe(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let now = Instant::now();
        // One who waits has a slice at least.
        let deadline = (now + self.session.timeout).min(self.until.max(now + SLICE));
        // The first one asked may say that the slot is elsewhere by now.
        for _ in 0..2 {
            if self.session.is_cluster() && self.extend(deadline, interrupted)? {
                return Ok(());
            }
        }
        let (_, subscription) = self.session.subscribe(self.slot, &self.prefix, deadline, interrupted)?;
        self.subscription = Some(subscription);
        Ok(())
    }

    /// Has an idle subscription at the server of its slot listen there too; false if there is none.
    fn extend(&mut self, deadline: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        let node = self.session.teller(self.slot, deadline, interrupted)?;
        let idle = self.session.engine().subscriptions.take(|one| one.node() == node.number);
        if let Some(mut subscription) = idle {
            let channel = self.session.slot_channel(self.slot, &self.prefix)?;
            let mut patience = CallDeadline::new(deadline, interrupted);
            let mut news = Vec::new();
            let asked = subscription
                .request(self.slot, channel, &mut patience)
                .and_then(|()| subscription.settle(self.slot, &mut news, &mut patience));
            self.session.learn(&node, news);
            match asked {
                Ok(()) if self.is_near(&subscription) => {
                    self.subscription = Some(subscription);
                    return Ok(true);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => return Err(interruption()),
                Ok(()) => self.session.engine().subscriptions.give_back(subscription),
                // Another one may do.
                Err(_) => {}
            }
        }
        Ok(false)
    }

    /// Rests until the hint about `topic` comes, or this moment. A subscription that was lost is made again, and one whose slot
    /// has moved follows it, and then it is over at once: a hint may have been lost too.
    ///
    /// # Errors
    /// As [`listen`](HintWait::listen); `internal` if the caller was interrupted.
    pub fn rest(&mut self, topic: &AttemptId, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let Some(subscription) = &mut self.subscription else { return sleep_until(until, interrupted) };
        match subscription.wait(topic, self.slot, until, interrupted)? {
            Heard::Hint | Heard::Nothing => Ok(()),
            Heard::Gone => {
                self.subscription = None;
                self.subscribe(interrupted)
            }
            Heard::Moved => {
                self.leave();
                self.subscribe(interrupted)
            }
        }
    }

    /// Leaves its subscription to the next.
    fn leave(&mut self) {
        // What a fork inherited is its parent's.
        if let Some(subscription) = self.subscription.take()
            && self.generation == generation()
        {
            self.session.engine().subscriptions.give_back(subscription);
        }
    }
}

impl Drop for HintWait {
    fn drop(&mut self) {
        self.leave();
    }
}
