//! The way between one JavaScript environment (the main thread or a worker) and the core: a [`Channel`] is what JavaScript holds, its
//! [`Transport`] carries the calls from the array that JavaScript writes to the core, and from the core to the array that it reads.
//!
//! JavaScript writes the calls of a tick into two arrays that it shares with us and flushes them with one call. It has us
//! remind it to: its own timers may be replaced by those of a test, which never fire. Answers that come later lie in a
//! mailbox; a bell wakes JavaScript once for all of them, and it collects them into a third shared array. Nothing here waits,
//! and no promise is known here: a call is a whole number below 2^53 that JavaScript gives to no second one.
//!
//! What is needed for every call are functions; the rest are methods, which take longer to call (function.rs).

use std::cell::{RefCell, RefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use napi::Env;
use napi::bindgen_prelude::{Float64Array, FromNapiValue, Function, Null, ToNapiValue, Uint8Array, Unknown};
use napi_derive::napi;
use quotalock::driver::{self, Sink};
use quotalock::{Answer, Op, Result};

use crate::answers::{Answers, Mailbox, Value};
use crate::at_once::AtOnce;
use crate::bell::{Reminders, bell};
use crate::call_array::{self, Asked};
use crate::client::{Client, Limiter};
use crate::error::{self, failed, thrown};
use crate::function::function;
use crate::handles::Handles;
use crate::look::{self, Looks};
use crate::own_loop::OwnLoop;

/// How many numbers the inbox begins with: where the answers behind them end, and 1 if there are more to collect.
const HEAD: usize = 2;

/// Carries the calls of one environment.
#[napi]
pub struct Channel {
    /// Keys of calls, the limiters, and what is decided at once.
    pub(crate) decider: Rc<AtOnce>,
    /// Handles that no limiter has.
    free: Vec<u32>,
    /// Nobody has it while JavaScript runs.
    pub(crate) transport: Rc<RefCell<Transport>>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Nobody else has it.
    _alive: Rc<()>,
}

thread_local! {
    /// Of the channel of this thread, if it is there still.
    static ALIVE: RefCell<Weak<()>> = const { RefCell::new(Weak::new()) };
}

/// Whether the channel of this thread is there still. Deno frees the objects of the native half when a worker ends, and then still
/// calls back for what was collected as garbage: no object may be called then.
#[napi]
pub fn has_channel() -> bool {
    ALIVE.try_with(|alive| alive.try_borrow().is_ok_and(|alive| alive.strong_count() > 0)).unwrap_or(false)
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
        let decider = Rc::new(AtOnce::new(keys, instant));
        let reminds = own.map_or_else(|| Reminders::new(&due).map(Reminds::Bells), |own| Ok(Reminds::Own(own)))?;
        let transport = Rc::new(RefCell::new(Transport::new(calls, inbox, decider.clone(), mailbox.clone(), reminds)));
        if !transport.borrow().has_loop() {
            let end =
                |transport: Rc<RefCell<Transport>>| _ = transport.try_borrow_mut().map(|mut transport| transport.end());
            env.add_env_cleanup_hook(transport.clone(), end).map_err(failed)?;
        }
        let alive = Rc::new(());
        ALIVE.with(|last| last.replace(Rc::downgrade(&alive)));
        Ok(Channel { decider, free: Vec::new(), transport, mailbox, _alive: alive })
    }

    /// The function that decides what was asked.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn decider(&self, env: Env) -> error::Result<Unknown<'static>> {
        let decider = self.decider.clone();
        function(env, move |_, _| {
            // What panics was not decided: the next batch says why.
            let _ = catch_unwind(AssertUnwindSafe(|| decider.decide()));
            Ok(null_mut())
        })
    }

    /// The function that makes the calls that were written, as so many numbers, and collects.
    #[napi(catch_unwind, ts_return_type = "(numbers: number) => void")]
    pub fn flusher(&self, env: Env) -> error::Result<Unknown<'static>> {
        let transport = self.transport.clone();
        function(env, move |env, numbers| {
            // SAFETY: it is the argument of the call that is made of us.
            let numbers = unsafe { u32::from_napi_value(env.raw(), numbers) }.map_err(failed)?;
            transport.borrow_mut().flush(env, numbers as usize);
            Ok(null_mut())
        })
    }

    /// The function that writes answers into the inbox: where they end, 1 if there are more, and the answers.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn collector(&self, env: Env) -> error::Result<Unknown<'static>> {
        let transport = self.transport.clone();
        function(env, move |env, _| {
            transport.borrow_mut().collect(env);
            Ok(null_mut())
        })
    }

    /// The function that has JavaScript called to flush, once it has done what it does now.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn reminder(&self, env: Env) -> error::Result<Unknown<'static>> {
        let transport = self.transport.clone();
        function(env, move |env, _| {
            transport.borrow_mut().remind(env);
            Ok(null_mut())
        })
    }

    /// Whether calls are written on JavaScript's own loop.
    #[napi(catch_unwind)]
    pub fn has_own_loop(&self) -> bool {
        self.transport().has_loop()
    }

    /// Has a client leave when the environment ends.
    #[napi(catch_unwind)]
    pub fn keep(&mut self, client: &Client) {
        self.transport().keep_client(&client.inner);
    }

    /// Gives a limiter a handle.
    #[napi(catch_unwind)]
    pub fn add(&mut self, limiter: &Limiter) -> u32 {
        let (limiter, mut limiters) = (Some(limiter.inner.clone()), self.decider.limiters.borrow_mut());
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
        let limiter = self.decider.limiters.borrow_mut().get_mut(handle as usize).and_then(Option::take);
        if limiter.is_some() {
            self.free.push(handle);
        }
    }

    /// Takes back a call whose caller is gone. It is still answered, and soon.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: f64) {
        self.transport().cancel(id as u64);
    }

    /// A value of the answers just collected, which can be taken once.
    #[napi(catch_unwind, ts_return_type = "any")]
    pub fn value<'e>(&mut self, env: &'e Env, place: u32) -> error::Result<Unknown<'e>> {
        let value = self.transport().take_value(place);
        value.map_or_else(|| Null.into_unknown(env), |value| value.taken(env)).map_err(failed)
    }

    /// Takes a call that was described for the batch of this tick (described.rs).
    pub(crate) fn describe(
        &mut self,
        make: impl FnOnce(&[Option<quotalock::Limiter>]) -> quotalock::Result<Op<Answer>>,
    ) -> error::Result<()> {
        let op = make(&self.decider.limiters.borrow()).map_err(thrown)?;
        self.transport().described.push(Some(Asked::Call(op)));
        Ok(())
    }

    /// Makes a call that waits for no batch.
    pub(crate) fn submit_now(&self, env: Env, id: f64, op: Op<Answer>) {
        self.transport().submit_now(env, id as u64, op);
    }

    pub(crate) fn transport(&self) -> RefMut<'_, Transport> {
        self.transport.borrow_mut()
    }
}

/// Carries calls and answers. Calls no JavaScript.
pub struct Transport {
    /// Written by JavaScript: calls.
    calls: Float64Array,
    /// Their keys, and the limiters.
    decider: Rc<AtOnce>,
    /// Written by us: answers.
    inbox: Float64Array,
    /// Calls of the next flush that were described in more than numbers.
    pub described: Vec<Option<Asked>>,
    mailbox: Arc<Mailbox>,
    looks: Looks,
    /// What gives back what it holds when the environment ends. Nothing on a loop of libuv: who has that finalizes values.
    clients: Handles<quotalock::Client>,
    loads: Handles<Mutex<driver::Loading>>,
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
pub enum Reminds {
    /// The loop it runs on.
    Own(Rc<OwnLoop>),
    /// Bells, where there is no loop to be had: the process' thread carries the calls.
    Bells(Reminders),
}

impl Transport {
    pub fn new(
        calls: Float64Array,
        inbox: Float64Array,
        decider: Rc<AtOnce>,
        mailbox: Arc<Mailbox>,
        reminds: Reminds,
    ) -> Transport {
        Transport {
            calls,
            decider,
            inbox,
            described: Vec::new(),
            looks: Looks::new(mailbox.clone()),
            mailbox,
            clients: Handles::new(),
            loads: Handles::new(),
            at_once: Vec::new(),
            collecting: Answers::default(),
            collected: 0,
            under_way: 0,
            reminds,
        }
    }

    /// Whether calls are written on JavaScript's own loop.
    pub fn has_loop(&self) -> bool {
        matches!(self.reminds, Reminds::Own(_))
    }

    /// Has a client give back what it holds when the environment ends.
    pub fn keep_client(&mut self, client: &Arc<quotalock::Client>) {
        if !self.has_loop() {
            self.clients.add(client);
        }
    }

    /// Has a load free the way when the environment ends.
    pub fn keep_load(&mut self, load: &look::Shared) {
        if !self.has_loop() {
            self.loads.add(load);
        }
    }

    /// The environment ends: calls are taken back, loads free the way, clients leave, and nothing rings for it any more.
    pub fn end(&mut self) {
        self.mailbox.end();
        let nobody = self.sink();
        [&nobody, self.looks.sink()].into_iter().for_each(driver::cancel_all);
        self.looks.forget_all();
        self.described.clear();
        self.at_once.clear();
        self.collecting.clear();
        // Before their clients: these hang up.
        self.loads.take().iter().for_each(|load| look::locked(load).abandon());
        let leaving = self.clients.take().into_iter().filter_map(|client| client.leave());
        driver::submit(leaving.map(|leaving| (0, leaving.erased())).collect(), &nobody);
    }

    /// Reminds JavaScript to flush, once it has done what it does now.
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

    /// Makes the calls that were written, so many numbers with their keys, and among them those that were described. Then
    /// collects: some may be answered already.
    pub fn flush(&mut self, env: Env, numbers: usize) {
        let calls = self.calls.get(..numbers).unwrap_or_default();
        let decider = self.decider.clone();
        let (keys, limiters) = (&decider.keys[..], decider.limiters.borrow());
        let mut ops = Vec::with_capacity(numbers / call_array::WIDTH);
        let mut looks = Vec::new();
        for (id, asked) in call_array::read(calls, keys, &limiters, &mut self.described) {
            match asked {
                Ok(Asked::Call(op)) => ops.push((id, op)),
                Ok(Asked::Look(op, loading)) => {
                    self.looks.begin(id, loading);
                    looks.push((id, op));
                }
                Err(error) => self.collecting.push(id, Err(error)),
            }
        }
        drop(limiters);
        // What was taken back meanwhile is forgotten.
        self.described.clear();
        let sink = self.sink();
        self.submit(env, ops, &sink);
        let sink = self.looks.sink().clone();
        self.submit(env, looks, &sink);
        if let Reminds::Bells(bells) = &mut self.reminds {
            let reminded = bells.done();
            self.settled(env, usize::from(reminded));
        }
        self.collect(env);
    }

    /// Takes back a call whose caller is gone. It is still answered, and soon.
    pub fn cancel(&mut self, id: u64) {
        let sink = if self.looks.forget(id) { self.looks.sink().clone() } else { self.sink() };
        match &self.reminds {
            Reminds::Own(own) if own.cancel(id) => {}
            _ => driver::cancel(id, &sink),
        }
    }

    /// Writes answers into the inbox, as many as fit.
    pub fn collect(&mut self, env: Env) {
        let gathers = self.collected == self.collecting.numbers.len();
        if gathers {
            self.gather(env);
        }
        let waiting = self.collecting.numbers.get(self.collected..).unwrap_or_default();
        // SAFETY: JavaScript reads the inbox only after this call, on this thread, and never transfers its memory.
        let inbox = unsafe { self.inbox.as_mut() };
        let room = inbox.len().saturating_sub(HEAD);
        let mut length = 0;
        while let Some(size) = waiting.get(length)
            && length + *size as usize <= room
        {
            length += *size as usize;
        }
        if let Some(place) = inbox.get_mut(HEAD..HEAD + length) {
            place.copy_from_slice(&waiting[..length]);
            inbox[0] = (HEAD + length) as f64;
            inbox[1] = f64::from(u8::from(length < waiting.len() || !gathers));
        }
        self.collected += length;
        self.decider.tell_whether_known();
    }

    /// Takes all answers that there are.
    fn gather(&mut self, env: Env) {
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
        self.understand(looked);
        self.settled(env, count);
    }

    /// A value of the answers just collected, which can be taken once.
    pub fn take_value(&mut self, place: u32) -> Option<Value> {
        self.collecting.values.get_mut(place as usize).and_then(Option::take)
    }

    /// Makes a call that waits for no batch.
    pub fn submit_now(&mut self, env: Env, id: u64, op: Op<Answer>) {
        let sink = self.sink();
        self.submit(env, vec![(id, op)], &sink);
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
            Reminds::Own(own) => own.submit(ops),
            Reminds::Bells(_) => self.at_once.append(&mut driver::submit(ops, sink)),
        }
    }

    /// More calls will be answered.
    fn expect(&mut self, env: Env, count: usize) {
        if self.under_way == 0 && count > 0 {
            self.mailbox.hold(env, true);
        }
        self.under_way += count;
    }

    /// Where answers come.
    fn sink(&self) -> Arc<dyn Sink> {
        self.mailbox.clone()
    }

    /// Finds out what the answers to looks mean.
    fn understand(&mut self, looked: Vec<(u64, Result<Answer>)>) {
        for (id, answer) in looked {
            if let Some(answer) = self.looks.understand(id, answer) {
                self.collecting.push(id, answer);
            }
        }
    }

    fn settled(&mut self, env: Env, count: usize) {
        if count > 0 {
            self.under_way = self.under_way.saturating_sub(count);
            if self.under_way == 0 {
                self.mailbox.hold(env, false);
            }
        }
    }
}
