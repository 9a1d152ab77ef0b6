//! The way between one JavaScript environment (the main thread or a worker) and the core.
//!
//! JavaScript writes the calls of a tick into two arrays that it shares with us and flushes them with one call. It has us
//! remind it to: its own timers may be replaced by those of a test, which never fire. Answers that come later lie in a
//! mailbox; a bell wakes JavaScript once for all of them, and it collects them into a third shared array. Nothing here waits, and no promise is known here: a call is a whole number
//! below 2^53 that JavaScript gives to no second one.

use std::rc::Rc;
use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Float64Array, Function, Null, ToNapiValue, Uint8Array, Unknown};
use napi_derive::napi;
use quotalock::driver::{self, Sink};
use quotalock::{Acquiring, Answer, Op, Releasing, Result};

use crate::answers::{Answers, Mailbox};
use crate::bell::{Reminders, bell, hold};
use crate::call::{self, Asked};
use crate::client::Limiter;
use crate::desk::Desk;
use crate::error;
use crate::look::{Looks, Understood};
use crate::own_loop::OwnLoop;

/// Carries the calls of one environment.
#[napi]
pub struct Channel {
    /// Written by JavaScript: calls.
    calls: Float64Array,
    /// Their keys, the limiters, and what is decided at once.
    pub(crate) desk: Rc<Desk>,
    /// Written by us: answers.
    inbox: Float64Array,
    /// Handles that no limiter has.
    free: Vec<u32>,
    /// Calls of the next flush that were described in more than numbers.
    pub(crate) described: Vec<Option<Asked>>,
    pub(crate) mailbox: Arc<Mailbox>,
    looks: Looks,
    /// What the process' thread did not need to be asked.
    at_once: Vec<(u64, Result<Answer>)>,
    /// What is being collected, and how far.
    collecting: Answers,
    collected: usize,
    /// Calls whose answer was not collected yet, and the reminder that is due.
    under_way: usize,
    reminds: Reminds,
}

/// What has JavaScript flush, and carries its calls.
enum Reminds {
    /// The loop it runs on.
    Own(Rc<OwnLoop>),
    /// Bells, where there is no loop to be had: the process' thread carries the calls.
    Bells(Reminders),
}

#[napi]
impl Channel {
    /// Makes a channel that calls `answered` when there is something to collect, and `due` when it is time to flush. `has_loop`
    /// says that JavaScript runs on a loop of libuv, and on no other's that pretends to be one.
    #[allow(clippy::too_many_arguments, reason = "one call of ours makes it")]
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        calls: Float64Array,
        keys: Uint8Array,
        inbox: Float64Array,
        instant: Float64Array,
        answered: Function<(), Unknown<'static>>,
        due: Function<(), Unknown<'static>>,
        has_loop: bool,
    ) -> error::Result<Channel> {
        let own = if has_loop { OwnLoop::new(env, &answered, &due) } else { None };
        let mailbox = Arc::new(Mailbox::new(bell(&answered)?));
        Ok(Channel {
            calls,
            desk: Rc::new(Desk::new(keys, instant)),
            inbox,
            free: Vec::new(),
            described: Vec::new(),
            looks: Looks::new(mailbox.clone()),
            mailbox,
            at_once: Vec::new(),
            collecting: Answers::default(),
            collected: 0,
            under_way: 0,
            reminds: own.map_or_else(|| Reminders::new(&due).map(Reminds::Bells), |own| Ok(Reminds::Own(own)))?,
        })
    }

    /// Whether calls are written on JavaScript's own loop.
    #[napi(catch_unwind)]
    pub fn has_own_loop(&self) -> bool {
        self.has_loop()
    }

    /// Reminds JavaScript to flush, once it has done what it does now.
    #[napi(catch_unwind)]
    pub fn remind(&mut self, env: Env) {
        match &mut self.reminds {
            Reminds::Own(own) => own.remind(),
            Reminds::Bells(bells) => {
                if bells.ring() {
                    self.expect(env, 1);
                }
            }
        }
    }

    /// Gives a limiter a handle.
    #[napi(catch_unwind)]
    pub fn add(&mut self, limiter: &Limiter) -> u32 {
        let (limiter, mut limiters) = (Some(limiter.inner.clone()), self.desk.limiters.borrow_mut());
        match self.free.pop() {
            Some(handle) => {
                limiters[handle as usize] = limiter;
                handle
            }
            None => {
                limiters.push(limiter);
                (limiters.len() - 1) as u32
            }
        }
    }

    /// Frees a handle.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, handle: u32) {
        let limiter = self.desk.limiters.borrow_mut().get_mut(handle as usize).and_then(Option::take);
        if limiter.is_some() {
            self.free.push(handle);
        }
    }

    /// Makes the calls that were written, `numbers` numbers and `bytes` bytes of keys, and among them those that were
    /// described. Collect afterwards: some may be answered already.
    #[napi(catch_unwind)]
    pub fn flush(&mut self, env: Env, numbers: u32, bytes: u32) {
        let (numbers, bytes) = (numbers as usize, bytes as usize);
        let calls = self.calls.get(..numbers).unwrap_or_default();
        let desk = self.desk.clone();
        let (keys, limiters) = (desk.keys.get(..bytes).unwrap_or_default(), desk.limiters.borrow());
        let mut ops = Vec::with_capacity(numbers / call::WIDTH);
        let mut looks = Vec::new();
        for (id, asked) in call::read(calls, keys, &limiters, &mut self.described) {
            match asked {
                Ok(Asked::Call(op)) => ops.push((id, op)),
                Ok(Asked::Look(look)) => looks.push((id, look)),
                Err(error) => self.collecting.push(id, Err(error)),
            }
        }
        drop(limiters);
        // What was taken back meanwhile is forgotten.
        self.described.clear();
        let sink = self.sink();
        self.submit(env, ops, &sink);
        if !looks.is_empty() {
            let (ops, sink) = (self.looks.begin(looks), self.looks.sink().clone());
            self.submit(env, ops, &sink);
        }
        if let Reminds::Bells(bells) = &mut self.reminds {
            let reminded = bells.done();
            self.settled(env, usize::from(reminded));
        }
    }

    /// Takes back a call whose caller is gone. It is still answered, and soon.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: f64) {
        let id = id as u64;
        let sink = if self.looks.forget(id) { self.looks.sink().clone() } else { self.sink() };
        match &self.reminds {
            Reminds::Own(own) => {
                own.ways.borrow_mut().cancel(id, &sink);
                own.flush_soon();
            }
            Reminds::Bells(_) => driver::cancel(id, &sink),
        }
    }

    /// Writes answers into the inbox, as many as fit, and tells how many numbers they are; 0 when all were collected.
    #[napi(catch_unwind)]
    pub fn collect(&mut self, env: Env) -> u32 {
        if self.collected == self.collecting.numbers.len() {
            self.collected = 0;
            self.collecting.clear();
            self.mailbox.empty(&mut self.collecting);
            let mut looked = std::mem::take(&mut self.collecting.looked);
            let mut here = std::mem::take(&mut self.at_once);
            if let Reminds::Own(own) = &self.reminds {
                here.append(&mut own.take_done());
            }
            for (id, answer) in here {
                if self.looks.has(id) {
                    looked.push((id, answer));
                } else {
                    self.collecting.push(id, answer);
                }
            }
            let count = self.collecting.count + looked.len();
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
        self.desk.tell_whether_known();
        length as u32
    }

    /// A value of the answers just collected, which can be taken once.
    #[napi(catch_unwind, ts_return_type = "any")]
    pub fn value<'e>(&mut self, env: &'e Env, place: u32) -> error::Result<Unknown<'e>> {
        let value = self.collecting.values.get_mut(place as usize).and_then(Option::take);
        value.map_or_else(|| Null.into_unknown(env), |value| value.taken(env)).map_err(error::failed)
    }

    /// Makes a call that waits for no batch.
    pub(crate) fn submit_now(&mut self, env: Env, id: f64, op: Op<Answer>) {
        let sink = self.sink();
        self.send_now(env, id, op, &sink);
    }

    /// Acquires, and waits for no batch.
    pub(crate) fn acquire_now(&mut self, env: Env, id: f64, acquiring: Acquiring) {
        if self.has_loop() && acquiring.is_plain() {
            let (op, sink) = (self.looks.acquire(id as u64, acquiring), self.looks.sink().clone());
            return self.send_now(env, id, op, &sink);
        }
        self.expect(env, 1);
        acquiring.submit(id as u64, &self.sink());
    }

    /// Releases, and waits for no batch.
    pub(crate) fn release_now(&mut self, env: Env, id: f64, releasing: Releasing) {
        if self.has_loop() && releasing.is_plain() {
            let (op, sink) = (self.looks.release(id as u64, releasing), self.looks.sink().clone());
            return op.map_or((), |op| self.send_now(env, id, op, &sink));
        }
        self.expect(env, 1);
        releasing.submit(id as u64, &self.sink());
    }

    fn has_loop(&self) -> bool {
        matches!(self.reminds, Reminds::Own(_))
    }

    fn send_now(&mut self, env: Env, id: f64, op: Op<Answer>, sink: &Arc<dyn Sink>) {
        self.submit(env, vec![(id as u64, op)], sink);
        if let Reminds::Own(own) = &self.reminds {
            own.flush();
        }
    }

    /// Makes calls whose answers come here, or to this sink.
    fn submit(&mut self, env: Env, ops: Vec<(u64, Op<Answer>)>, sink: &Arc<dyn Sink>) {
        let count = ops.len();
        if count == 0 {
            return;
        }
        self.expect(env, count);
        match &self.reminds {
            Reminds::Own(own) => {
                own.ways.borrow_mut().submit(ops, sink);
                own.flush();
            }
            Reminds::Bells(_) => self.at_once.append(&mut driver::submit(ops, sink)),
        }
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
                Understood::Answer(answer) => self.collecting.push(id, answer),
                Understood::Waits => self.expect(env, 1),
                Understood::Nothing => {}
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
