//! The way between one JavaScript environment (the main thread or a worker) and the core.
//!
//! JavaScript writes the calls of a tick into two arrays that it shares with us and flushes them with one call. It has us
//! remind it to: its own timers may be replaced by those of a test, which never fire. Answers that come later lie in a
//! mailbox; a bell wakes JavaScript once for all of them, and it collects them into a third shared array. Nothing here waits, and no promise is known here: a call is a whole number
//! below 2^53 that JavaScript gives to no second one.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Float64Array, Function, Null, ToNapiValue, Uint8Array, Unknown};
use napi_derive::napi;
use quotalock::driver::{self, Sink};
use quotalock::{Answer, Op, Result};

use crate::answers::{Answers, Mailbox};
use crate::bell::{Reminders, bell, hold};
use crate::call::{self, Asked};
use crate::client::Limiter;
use crate::error;
use crate::look::Looks;

/// Carries the calls of one environment.
#[napi]
pub struct Channel {
    /// Written by JavaScript: calls.
    calls: Float64Array,
    /// Written by JavaScript: their keys.
    pub(crate) keys: Uint8Array,
    /// Written by us: answers.
    inbox: Float64Array,
    /// Written by both: what is decided at once (src/at_once.rs).
    pub(crate) instant: Float64Array,
    /// By handle; free places are none, and listed in `free`.
    pub(crate) limiters: Vec<Option<quotalock::Limiter>>,
    free: Vec<u32>,
    /// Calls of the next flush that were described in more than numbers.
    pub(crate) described: Vec<Option<Asked>>,
    pub(crate) mailbox: Arc<Mailbox>,
    looks: Looks,
    /// What is being collected, and how far.
    collecting: Answers,
    collected: usize,
    /// What was decided at once.
    pub(crate) decided: Answers,
    /// Calls whose answer was not collected yet, and the reminder that is due.
    under_way: usize,
    reminders: Reminders,
}

#[napi]
impl Channel {
    /// Makes a channel that calls `answered` when there is something to collect, and `due` when it is time to flush.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        calls: Float64Array,
        keys: Uint8Array,
        inbox: Float64Array,
        instant: Float64Array,
        answered: Function<(), Unknown<'static>>,
        due: Function<(), Unknown<'static>>,
    ) -> error::Result<Channel> {
        let mailbox = Arc::new(Mailbox::new(bell(&answered)?));
        Ok(Channel {
            calls,
            keys,
            inbox,
            instant,
            decided: Answers::default(),
            limiters: Vec::new(),
            free: Vec::new(),
            described: Vec::new(),
            looks: Looks::new(mailbox.clone()),
            mailbox,
            collecting: Answers::default(),
            collected: 0,
            under_way: 0,
            reminders: Reminders::new(&due)?,
        })
    }

    /// Reminds JavaScript to flush, once it has done what it does now.
    #[napi(catch_unwind)]
    pub fn remind(&mut self, env: Env) {
        if self.reminders.ring() {
            self.expect(env, 1);
        }
    }

    /// Gives a limiter a handle.
    #[napi(catch_unwind)]
    pub fn add(&mut self, limiter: &Limiter) -> u32 {
        let limiter = Some(limiter.inner.clone());
        match self.free.pop() {
            Some(handle) => {
                self.limiters[handle as usize] = limiter;
                handle
            }
            None => {
                self.limiters.push(limiter);
                (self.limiters.len() - 1) as u32
            }
        }
    }

    /// Frees a handle.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, handle: u32) {
        if self.limiters.get_mut(handle as usize).is_some_and(|place| place.take().is_some()) {
            self.free.push(handle);
        }
    }

    /// Makes the calls that were written, `numbers` numbers and `bytes` bytes of keys, and among them those that were
    /// described. Collect afterwards: some may be answered already.
    #[napi(catch_unwind)]
    pub fn flush(&mut self, env: Env, numbers: u32, bytes: u32) {
        let (numbers, bytes) = (numbers as usize, bytes as usize);
        let calls = self.calls.get(..numbers).unwrap_or_default();
        let keys = self.keys.get(..bytes).unwrap_or_default();
        let mut ops = Vec::with_capacity(numbers / call::WIDTH);
        let mut looks = Vec::new();
        for (id, asked) in call::read(calls, keys, &self.limiters, &mut self.described) {
            match asked {
                Ok(Asked::Call(op)) => ops.push((id, op)),
                Ok(Asked::Look(look)) => looks.push((id, look)),
                Err(error) => self.collecting.push(id, Err(error)),
            }
        }
        // What was taken back meanwhile is forgotten.
        self.described.clear();
        self.submit(env, ops);
        if !looks.is_empty() {
            let count = looks.len();
            let answered = self.looks.submit(looks);
            self.expect(env, count - answered.len());
            self.understand(env, answered);
        }
        let reminded = self.reminders.done();
        self.settled(env, usize::from(reminded));
    }

    /// Takes back a call whose caller is gone. It is still answered, and soon.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: f64) {
        let id = id as u64;
        if !self.looks.cancel(id) {
            driver::cancel(id, &self.sink());
        }
    }

    /// Writes answers into the inbox, as many as fit, and tells how many numbers they are; 0 when all were collected.
    #[napi(catch_unwind)]
    pub fn collect(&mut self, env: Env) -> u32 {
        if self.collected == self.collecting.numbers.len() {
            self.collected = 0;
            self.collecting.clear();
            self.mailbox.empty(&mut self.collecting);
            let count = self.collecting.count + self.collecting.looked.len();
            let looked = std::mem::take(&mut self.collecting.looked);
            self.understand(env, looked);
            self.settled(env, count);
        }
        let waiting = self.collecting.numbers.get(self.collected..).unwrap_or_default();
        // SAFETY: JavaScript reads the inbox only after this call, on this thread, and never transfers its memory.
        let inbox = unsafe { self.inbox.as_mut() };
        let mut length = 0;
        while let Some(size) = waiting.get(length)
            && length + *size as usize <= inbox.len()
        {
            length += *size as usize;
        }
        inbox[..length].copy_from_slice(&waiting[..length]);
        self.collected += length;
        self.tell_whether_known();
        length as u32
    }

    /// A value of the answers just collected, which can be taken once.
    #[napi(catch_unwind, ts_return_type = "any")]
    pub fn value<'e>(&mut self, env: &'e Env, place: u32) -> error::Result<Unknown<'e>> {
        let value = self.collecting.values.get_mut(place as usize).and_then(Option::take);
        value.map_or_else(|| Null.into_unknown(env), |value| value.taken(env)).map_err(error::failed)
    }

    /// Makes calls.
    pub(crate) fn submit(&mut self, env: Env, ops: Vec<(u64, Op<Answer>)>) {
        let count = ops.len();
        let answered = driver::submit(ops, &self.sink());
        self.expect(env, count - answered.len());
        answered.into_iter().for_each(|(id, answer)| self.collecting.push(id, answer));
    }

    /// More calls will be answered.
    pub(crate) fn expect(&mut self, env: Env, count: usize) {
        if self.under_way == 0 && count > 0 {
            hold(self.mailbox.bell(), env, true);
        }
        self.under_way += count;
    }

    /// Where answers come.
    pub(crate) fn sink(&self) -> Arc<dyn Sink> {
        self.mailbox.clone()
    }

    /// Finds out what the answers to looks mean.
    fn understand(&mut self, env: Env, looked: Vec<(u64, Result<Answer>)>) {
        for (id, answer) in looked {
            match self.looks.understand(id, answer) {
                Some(true) => self.collecting.push(id, Ok(Answer::new(true))),
                Some(false) => self.expect(env, 1),
                None => {}
            }
        }
    }

    fn settled(&mut self, env: Env, count: usize) {
        if count > 0 {
            self.under_way = self.under_way.saturating_sub(count);
            if self.under_way == 0 {
                hold(self.mailbox.bell(), env, false);
            }
        }
    }
}
