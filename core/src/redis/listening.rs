//! Who waits on its own thread: it rests until a hint comes, on a subscription that is kept for the next who waits.

use std::sync::Arc;
use std::time::Instant;

use crate::base::error::Result;
use crate::base::fork::generation;
use crate::connection::ear::{Ear, Heard, new_channel};
use crate::connection::patience::{Patience, SLICE, sleep_until};
use crate::session::Session;
use crate::state::lease::{Channel, Id};

/// One caller's wait on its own thread. Dropped, it leaves its subscription to the next.
pub(crate) struct Listening {
    shared: Arc<Session>,
    /// What channels' names begin with.
    prefix: Arc<[u8]>,
    /// When its caller's patience is over.
    until: Instant,
    ear: Option<Ear>,
    generation: u64,
}

impl Listening {
    /// Begins to wait; it hears nothing yet.
    pub fn new(shared: &Arc<Session>, prefix: &Arc<[u8]>, until: Instant) -> Listening {
        Listening { shared: shared.clone(), prefix: prefix.clone(), until, ear: None, generation: generation() }
    }

    /// Where it hears hints; none if it does not listen.
    pub fn channel(&self) -> Option<Channel> {
        self.ear.as_ref().map(Ear::channel)
    }

    /// Listens if that costs nothing.
    pub fn listen_if_idle(&mut self) {
        self.ear = self.shared.engine().ears.take();
    }

    /// Listens from now on.
    ///
    /// # Errors
    /// Those of a new connection and of SUBSCRIBE.
    pub fn listen(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        self.listen_if_idle();
        if self.ear.is_none() {
            self.subscribe(interrupted)?;
        }
        Ok(())
    }

    fn subscribe(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let now = Instant::now();
        // One who waits has a slice at least.
        let deadline = (now + self.shared.timeout).min(self.until.max(now + SLICE));
        let patience = Patience::new(deadline, interrupted);
        self.ear = Some(Ear::open(self.shared.endpoint.server()?, &self.prefix, new_channel()?, patience)?);
        Ok(())
    }

    /// Rests until the hint about `topic` comes, or this moment. A subscription that was lost is made again, and then it
    /// is over at once: a hint may have been lost too.
    ///
    /// # Errors
    /// As [`listen`](Listening::listen); `internal` if the caller was interrupted.
    pub fn rest(&mut self, topic: &Id, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let Some(ear) = &mut self.ear else { return sleep_until(until, interrupted) };
        match ear.wait(topic, until, interrupted)? {
            Heard::Hint | Heard::Nothing => Ok(()),
            Heard::Gone => {
                self.ear = None;
                self.subscribe(interrupted)
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // What a fork inherited is its parent's.
        if let Some(ear) = self.ear.take()
            && self.generation == generation()
        {
            self.shared.engine().ears.keep(ear);
        }
    }
}
