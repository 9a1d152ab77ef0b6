//! What carries the calls of one JavaScript environment: from the array that JavaScript writes to the core, and from the core to the
//! array that JavaScript reads.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use napi::Env;
use napi::bindgen_prelude::Float64Array;
use quotalock::driver::{self, Sink};
use quotalock::{Answer, Op, Result};

use crate::answers::{Answers, Mailbox, Value};
use crate::at_once::AtOnce;
use crate::bell::Reminders;
use crate::call_array::{self, Asked};
use crate::handles::Handles;
use crate::look::{self, Looks};
use crate::own_loop::OwnLoop;

/// How many numbers the inbox begins with: where the answers behind them end, and 1 if there are more to collect.
const HEAD: usize = 2;

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
