//! Who waits on its own thread: it rests until a hint comes, on a subscription that is kept for the next who waits.

use std::sync::Arc;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::fork::generation;
use crate::connection::deadline::{CallDeadline, SLICE, sleep_until};
use crate::connection::subscription::{Heard, Subscription, new_channel};
use crate::session::Session;
use crate::state::lease::{Channel, Id};

/// One caller's wait on its own thread. Dropped, it leaves its subscription to the next.
pub(crate) struct HintWait {
    session: Arc<Session>,
    /// What channels' names begin with.
    prefix: Arc<[u8]>,
    /// When its caller's patience is over.
    until: Instant,
    subscription: Option<Subscription>,
    generation: u64,
}

impl HintWait {
    /// Begins to wait; it hears nothing yet.
    pub fn new(session: &Arc<Session>, prefix: &Arc<[u8]>, until: Instant) -> HintWait {
        HintWait {
            session: session.clone(),
            prefix: prefix.clone(),
            until,
            subscription: None,
            generation: generation(),
        }
    }

    /// Where it hears hints; none if it does not listen.
    pub fn channel(&self) -> Option<Channel> {
        self.subscription.as_ref().map(Subscription::channel)
    }

    /// Listens if that costs nothing.
    pub fn listen_if_idle(&mut self) {
        self.subscription = self.session.engine().subscriptions.take();
    }

    /// Listens from now on.
    ///
    /// # Errors
    /// Those of a new connection and of SUBSCRIBE.
    pub fn listen(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
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
        let node = self.session.any_node(deadline, interrupted)?;
        let patience = CallDeadline::new(deadline, interrupted);
        self.subscription = Some(Subscription::open(&node.server, &self.prefix, new_channel()?, patience)?);
        Ok(())
    }

    /// Rests until the hint about `topic` comes, or this moment. A subscription that was lost is made again, and then it
    /// is over at once: a hint may have been lost too.
    ///
    /// # Errors
    /// As [`listen`](HintWait::listen); `internal` if the caller was interrupted.
    pub fn rest(&mut self, topic: &Id, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let Some(subscription) = &mut self.subscription else { return sleep_until(until, interrupted) };
        match subscription.wait(topic, until, interrupted)? {
            Heard::Hint | Heard::Nothing => Ok(()),
            Heard::Gone => {
                self.subscription = None;
                self.subscribe(interrupted)
            }
        }
    }
}

impl Drop for HintWait {
    fn drop(&mut self) {
        // What a fork inherited is its parent's.
        if let Some(subscription) = self.subscription.take()
            && self.generation == generation()
        {
            self.session.engine().subscriptions.keep(subscription);
        }
    }
}
