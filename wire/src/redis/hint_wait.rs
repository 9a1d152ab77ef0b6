//! Who waits on its own thread: it rests until a hint comes, on a subscription that is kept for the next who waits.

use std::io::ErrorKind;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::fork::generation;
use crate::connection::deadline::{CallDeadline, SLICE, interruption, sleep_until};
use crate::connection::subscription::{Heard, HintChannel, Subscription};
use crate::machine::WaitPlace;

/// One caller's wait on its own thread. Dropped, it leaves its subscription to the next.
pub(crate) struct HintWait {
    place: WaitPlace,
    subscription: Option<Subscription>,
    generation: u64,
}

impl HintWait {
    /// Begins to wait; it hears nothing yet.
    pub fn new(place: WaitPlace) -> HintWait {
        HintWait { place, subscription: None, generation: generation() }
    }

    /// Whether its caller's time is over.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.place.until
    }

    /// Where it hears hints; none if it does not listen.
    pub fn ear(&self) -> Option<HintChannel> {
        self.subscription.as_ref().and_then(|subscription| subscription.ear(self.place.slot))
    }

    fn is_near(&self, subscription: &Subscription) -> bool {
        subscription.ear(self.place.slot).is_some_and(|ear| self.place.session.is_near(self.place.slot, ear))
    }

    /// Listens if that costs nothing.
    pub(crate) fn listen_if_idle(&mut self) {
        self.subscription = self.place.session.engine().subscriptions.take(|one| self.is_near(one));
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
        let deadline = (now + self.place.session.timeout).min(self.place.until.max(now + SLICE));
        // The first one asked may say that the slot is elsewhere by now.
        for _ in 0..2 {
            if self.place.session.is_cluster() && self.extend(deadline, interrupted)? {
                return Ok(());
            }
        }
        let (_, subscription) =
            self.place.session.subscribe(self.place.slot, &self.place.prefix, deadline, interrupted)?;
        self.subscription = Some(subscription);
        Ok(())
    }

    /// Has an idle subscription at the server of its slot listen there too; false if there is none.
    fn extend(&mut self, deadline: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        let node = self.place.session.teller(self.place.slot, deadline, interrupted)?;
        let idle = self.place.session.engine().subscriptions.take(|one| one.node() == node.number);
        if let Some(mut subscription) = idle {
            let channel = self.place.session.slot_channel(self.place.slot, &self.place.prefix)?;
            let mut patience = CallDeadline::new(deadline, interrupted);
            let mut news = Vec::new();
            let asked = subscription
                .request(self.place.slot, channel, &mut patience)
                .and_then(|()| subscription.settle(self.place.slot, &mut news, &mut patience));
            self.place.session.learn(&node, news);
            match asked {
                Ok(()) if self.is_near(&subscription) => {
                    self.subscription = Some(subscription);
                    return Ok(true);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => return Err(interruption()),
                Ok(()) => self.place.session.engine().subscriptions.give_back(subscription),
                // Another one may do.
                Err(_) => {}
            }
        }
        Ok(false)
    }

    /// Rests until the hint that it waits for comes, or this moment. A subscription that was lost is made again, and one whose slot
    /// has moved follows it, and then it is over at once: a hint may have been lost too.
    ///
    /// # Errors
    /// As [`listen`](HintWait::listen); `internal` if the caller was interrupted.
    pub fn rest(&mut self, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let Some(subscription) = &mut self.subscription else { return sleep_until(until, interrupted) };
        match subscription.wait(&self.place.topic, self.place.slot, until, interrupted)? {
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
            self.place.session.engine().subscriptions.give_back(subscription);
        }
    }
}

impl Drop for HintWait {
    fn drop(&mut self) {
        self.leave();
    }
}
