//! Passing a lock on: the text that stands for it, and what adopts it.

use std::sync::Arc;
use std::time::Duration;

use super::held::HeldLock;
use super::options::check_ttl;
use super::passed::Passed;
use super::queue;
use super::spec::LockSpec;
use super::{Inner, Lock, LockOptions, acquisition};
use crate::client::Client;
use crate::lock::lease_table::Adopt;
use wire::base::error::{Code, Error, Result, shown};
use wire::base::random;
use wire::call::answer::Answer;
use wire::call::prelude::*;
use wire::op::Op;

impl Lock {
    /// Writes the lease down as a short text, by which another process adopts it ([`Client::adopt`]), and ends this handle:
    /// it is released, renews no more, and its release is false. Does not contact Redis. The lock is not renewed until it is
    /// adopted, so the text must arrive within the time that [`remaining`](Lock::remaining) returns.
    ///
    /// Anyone who has the text can take the lease: treat it as a secret. It contains no password.
    ///
    /// # Errors
    /// `lost` if the lock is not held for certain now; `invalid_argument` for a lock over several servers.
    pub fn handover(&self) -> Result<String> {
        let spec = &self.inner.spec;
        if spec.is_quorum() {
            let what = &spec.shown;
            return Err(Error::invalid(format!("{what} is held on several servers: it cannot be handed over")));
        }
        self.assert_held()?;
        let mut handle = self.inner.handle();
        let Some(held) = handle.held.take() else {
            drop(handle);
            return self.assert_held().map(|()| String::new());
        };
        drop(handle);
        let text = Passed::of(&held).text();
        // Its deadline may have come since.
        let was_held = held.is_held();
        held.give_up();
        if !was_held {
            self.inner.handle().held = Some(held);
            return self.assert_held().map(|()| text);
        }
        Ok(text)
    }
}

impl Client {
    /// Makes a handle of what [`Lock::handover`] wrote, in this process or another one, in any language, and describes the
    /// call that takes the lease over: it fails with `lost` if the lease is over, was adopted before, or is on another
    /// server. The handle has the ttl, the label and the fencing token of the giver, and is renewed if `renew`, for as long
    /// as the giver's `max_hold` left. Its deadline counts from this call.
    ///
    /// # Errors
    /// `invalid_argument` for a text that is none, is damaged, or comes from a client with another prefix.
    pub fn adopt(&self, text: &str, renew: bool) -> Result<(Lock, Op<bool>)> {
        self.adopt_named(text, None, renew, None)
    }

    /// As [`Client::adopt`], with another ttl than the giver's: the lease ends that long after the call, also if that is
    /// sooner than it would have.
    ///
    /// # Errors
    /// `invalid_argument` also for a ttl that is too short or too long.
    pub fn adopt_for(&self, text: &str, renew: bool, ttl: Duration) -> Result<(Lock, Op<bool>)> {
        self.adopt_named(text, None, renew, Some(ttl))
    }

    /// As [`Client::adopt_for`] if there is a ttl, else as [`Client::adopt`]; with a name, only if the text is that of this one
    /// lock, so that who was given the text of another lock does not touch it.
    ///
    /// # Errors
    /// `invalid_argument` also for the text of another lock.
    pub fn adopt_named(
        &self,
        text: &str,
        name: Option<&[u8]>,
        renew: bool,
        ttl: Option<Duration>,
    ) -> Result<(Lock, Op<bool>)> {
        let mut passed = Passed::read(text)?;
        if let Some(ttl) = ttl {
            passed.ttl = ttl.as_micros() as u64;
            check_ttl(passed.ttl)?;
        }
        if let Some(name) = name.filter(|name| passed.names != [*name]) {
            let name = shown(name);
            return Err(Error::invalid(format!("the text of the lock is that of another lock than \"{name}\"")));
        }
        self.adopt_passed(passed, renew, ttl.is_some())
    }

    fn adopt_passed(&self, passed: Passed, renew: bool, exact: bool) -> Result<(Lock, Op<bool>)> {
        let prefix = self.prefix();
        if passed.prefix != prefix {
            let theirs = shown(passed.prefix.as_bytes());
            return Err(Error::invalid(format!(
                "the lock was handed over by a client with the prefix \"{theirs}\", and this one has \"{prefix}\": \
                 adopt it with the same prefix"
            )));
        }
        let names: Vec<&[u8]> = passed.names.iter().map(Vec::as_slice).collect();
        let options = LockOptions {
            ttl: passed.ttl,
            renew,
            max_hold: passed.max_hold,
            fair: passed.fair,
            label: passed.label.clone(),
            ..LockOptions::default()
        };
        let lock = Lock::of(LockSpec::new(self, passed.kind, &names, passed.of_permits, options)?);
        let call = AdoptCall::new(lock.inner.clone(), &passed, exact)?;
        let op = Op::new(&self.session, Box::new(call), None);
        Ok((lock, op))
    }
}

/// The call that takes a lease over.
struct AdoptCall {
    lock: Arc<Inner>,
    /// Which of the handle's attempts it is.
    number: u64,
    /// Described now, sent later: counted from now the deadline is certain.
    sent: u64,
    adopt: Adopt,
}

impl AdoptCall {
    fn new(lock: Arc<Inner>, passed: &Passed, exact: bool) -> Result<AdoptCall> {
        let (number, spec) = (lock.begin(Duration::ZERO)?, &lock.spec);
        let adopt = Adopt {
            keys: spec.keys.clone(),
            id: passed.id,
            heir: random::bytes()?,
            ttl: passed.ttl,
            exact,
            who: spec.who(),
            shown: spec.shown.clone(),
        };
        let sent = spec.now();
        Ok(AdoptCall { number, sent, adopt, lock })
    }

    /// The lease is this handle's, under this token.
    fn take_over(&self, token: u64) -> bool {
        let held = Arc::new(HeldLock::new(self.lock.spec.clone(), self.adopt.heir, token, self.sent));
        if self.lock.granted(&held, self.number) && held.is_held() {
            queue::keep_if_renewed(&held);
            return true;
        }
        acquisition::give_back(held);
        false
    }
}

impl Command for AdoptCall {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        self.adopt.frame()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.adopt.args(args);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.adopt.twin(space, now)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        let token: Option<u64> = self.adopt.decode(fields, origin)?.take()?;
        Ok(Answer::new(token.is_some_and(|token| self.take_over(token))))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for AdoptCall {
    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        let answer = result?;
        if answer.get() == Some(&true) {
            return Ok(answer);
        }
        let what = format!("{} cannot be adopted", self.lock.spec.shown);
        let why = "its lease has ended, was adopted before, or is on another server";
        Err(Error::new(Code::Lost, format!("{what}: {why}; acquire it again")))
    }
}

impl Drop for AdoptCall {
    fn drop(&mut self) {
        self.lock.on_grant_end(self.number);
    }
}
