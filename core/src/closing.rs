//! The end of a client: what is held through it is given back, then its connections are closed.

use std::sync::Arc;
use std::time::Instant;

use crate::client::Client;
use crate::limiter;
use crate::limiter::purse::Leftover;
use crate::lock::{self, HeldLock};
use wire::call::answer::Answer;
use wire::op::Op;
use wire::redis::batch;
use wire::session::Session;
use wire::session::exchange::Exchange;

impl Client {
    /// Closes the client. Locks and permits that are held through it are released, permits that a limiter took ahead ([`LimiterOptions::prefetch`](crate::LimiterOptions)) given back, and who waits for one ends with `closed` and
    /// leaves its place; what is not [reported](crate::reports) yet is. That takes one timeout of the client at most, after which what could not be given back ends with its
    /// ttl. Then the connections are closed. Later calls answer `closed`, and what was held is lost; closing twice does nothing.
    pub fn close(&self) {
        Closing::begin(self, |_| true).run();
    }

    /// As [`close`](Client::close), for who must not block: the client is closed at once, and the answer, true, comes when all
    /// was given back; none if nothing was held.
    pub fn close_elsewhere(&self) -> Option<Op<bool>> {
        Closing::begin(self, |_| true).elsewhere()
    }

    /// As [`close_elsewhere`](Client::close_elsewhere), for a binding whose objects go away all at once: leases that are not renewed
    /// stay, and end by themselves.
    pub fn leave(&self) -> Option<Op<bool>> {
        Closing::begin(self, |held| held.spec.options.renew).elsewhere()
    }
}

/// A close that has begun: no call is taken any more. Dropped, it hangs up.
struct Closing {
    /// None if it was closed before.
    session: Option<Arc<Session>>,
    held: Vec<Arc<HeldLock>>,
    /// Permits that were taken ahead.
    unspent: Vec<Leftover>,
    /// What is not reported yet.
    report: Option<Exchange>,
}

impl Closing {
    /// Begins to close a client, and to give back what is chosen of what it holds.
    fn begin(client: &Client, is_chosen: fn(&HeldLock) -> bool) -> Closing {
        let session = client.session.end().then(|| client.session.clone());
        // A child of a fork has an engine of its own, which holds nothing of its parent's.
        let engine = session.as_ref().and_then(|session| session.engine_if_made());
        let mut held = engine.map(|engine| engine.holdings.take_all::<HeldLock>()).unwrap_or_default();
        held.retain(|held| is_chosen(held));
        held.iter().for_each(|held| held.lose());
        // Those who wait on the process' thread leave while it still has its connection.
        engine.into_iter().for_each(|engine| engine.hang_up());
        let purses = session.as_ref().zip(client.purses.get());
        let unspent = purses.map(|(session, purses)| purses.give_up(session.steady_time())).unwrap_or_default();
        let report = session.as_ref().and(client.reporter.as_ref()).and_then(|reporter| reporter.take_report());
        Closing { session, held, unspent, report }
    }

    /// Describes what gives back what is held; none if nothing is.
    fn elsewhere(self) -> Option<Op<bool>> {
        let has_work = !self.held.is_empty() || !self.unspent.is_empty() || self.report.is_some();
        has_work.then(|| {
            Op::task(move || {
                self.run();
                Ok(Answer::new(true))
            })
        })
    }

    /// Gives back what is held.
    fn run(mut self) {
        let Some(session) = &self.session else { return };
        let end = Instant::now() + session.timeout;
        let (several, single): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.spec.is_quorum());
        let release = |held: Arc<HeldLock>| {
            let release = Box::new(held.spec.release(held.id, 0));
            Exchange::new(held.spec.session.clone(), release, None).parting()
        };
        let unspent = std::mem::take(&mut self.unspent).into_iter();
        let given_back = unspent.filter_map(|left| limiter::give_back(session, left));
        // What could not be told ends with its ttl, and permits with their window.
        let calls = single.into_iter().map(release).chain(given_back).chain(self.report.take());
        batch::run_all(calls.collect(), &mut || Instant::now() >= end);
        for held in several.iter().take_while(|_| Instant::now() < end) {
            let _ = lock::release_everywhere(held, &mut || Instant::now() >= end);
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(engine) = self.session.as_ref().and_then(|session| session.engine_if_made()) {
            engine.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Options;
    use crate::lock::LockOptions;

    #[test]
    fn what_has_ended_is_not_remembered() {
        let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
        let kept = client.lock(b"kept", LockOptions::default()).unwrap();
        assert!(kept.acquire(Duration::ZERO).unwrap().run().unwrap());
        for _ in 0..1_000 {
            let lock = client.lock(b"another", LockOptions::default()).unwrap();
            assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap());
            assert!(lock.release().run().unwrap());
        }
        let holdings = &client.session.engine().holdings;
        assert!(holdings.count() < 200);
        assert_eq!(holdings.take_all::<HeldLock>().len(), 1);
    }
}
