//! Looks: the first question of a `get`, which goes out with the batch of its tick. Its answer is a value, the duty to load
//! one, or that another loads it: then the core waits for that one, under the same number.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::driver::{self, Sink};
use quotalock::{Answer, Getting, GettingMany, Op, Result};

use crate::cache::{Cache, Once, Ticket, Wait, pieces, waiting};
use crate::call::Asked;
use crate::channel::Channel;
use crate::error::{self, thrown};

/// What is asked for.
pub enum Look {
    /// One entry.
    One(Getting),
    /// Several, in one call.
    Several(GettingMany),
}

impl Look {
    fn ask(&mut self) -> Op<Answer> {
        match self {
            Look::One(getting) => getting.ask(),
            Look::Several(getting) => getting.ask(),
        }
    }
}

#[napi]
impl Channel {
    /// Describes a `get`.
    #[napi(catch_unwind)]
    pub fn get_cached(&mut self, cache: &Cache, key: BufferSlice, wait_ms: Option<f64>) -> error::Result<()> {
        self.describe_look(|| Ok(Look::One(cache.inner.get(&key, waiting(wait_ms)?)?)))
    }

    /// Describes a `get` of several keys: their lengths in bytes, and themselves one after another.
    #[napi(catch_unwind)]
    pub fn get_several(
        &mut self,
        cache: &Cache,
        lengths: Vec<u32>,
        keys: BufferSlice,
        wait_ms: Option<f64>,
    ) -> error::Result<()> {
        self.describe_look(|| Ok(Look::Several(cache.inner.get_many(&pieces(&lengths, &keys), waiting(wait_ms)?)?)))
    }

    /// Describes the beginning of a run.
    #[napi(catch_unwind)]
    pub fn begin(&mut self, once: &Once, id: BufferSlice, wait_ms: Option<f64>) -> error::Result<()> {
        self.describe_look(|| Ok(Look::One(once.inner.begin(&id, waiting(wait_ms)?)?)))
    }

    /// Waits, under the number `id`, for what another loads. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn wait_for(&mut self, env: Env, id: f64, wait: &mut Wait) {
        if let Some(getting) = wait.inner.take() {
            self.expect(env, 1);
            getting.submit(id as u64, &self.sink());
        }
    }

    /// A ticket of the answers just collected.
    #[napi(catch_unwind)]
    pub fn ticket(&self, number: u32) -> Option<Ticket> {
        self.collecting.tickets.get(number as usize).cloned().map(|inner| Ticket { inner })
    }

    /// A wait of the answers just collected, which can be taken once.
    #[napi(catch_unwind)]
    pub fn wait(&mut self, number: u32) -> Wait {
        Wait { inner: self.collecting.waits.get_mut(number as usize).and_then(Option::take) }
    }

    /// Makes looks.
    pub(crate) fn look(&mut self, env: Env, looks: Vec<(u64, Look)>) {
        if looks.is_empty() {
            return;
        }
        let mut ops = Vec::with_capacity(looks.len());
        for (id, mut look) in looks {
            ops.push((id, look.ask()));
            self.looks.insert(id, look);
        }
        let count = ops.len();
        let answered = driver::submit(ops, &self.looking());
        self.expect(env, count - answered.len());
        answered.into_iter().for_each(|(id, answer)| self.understand_one(env, id, answer));
    }

    /// Finds out what the answers to looks mean that were collected.
    pub(crate) fn understand(&mut self, env: Env) {
        for (id, answer) in std::mem::take(&mut self.collecting.looked) {
            self.understand_one(env, id, answer);
        }
    }

    /// Where answers to looks come.
    pub(crate) fn looking(&self) -> Arc<dyn Sink> {
        self.lookout.clone()
    }

    fn understand_one(&mut self, env: Env, id: u64, answer: Result<Answer>) {
        match self.looks.remove(&id) {
            Some(Look::One(getting)) => match getting.after(answer) {
                Ok(got) => self.collecting.push(id, &got.map(Answer::new)),
                Err(getting) => {
                    self.expect(env, 1);
                    getting.submit(id, &self.sink());
                }
            },
            Some(Look::Several(getting)) => self.collecting.push_parts(id, getting.after(answer)),
            // It was taken back, and so was a lease that came of it.
            None => {}
        }
    }

    fn describe_look(&mut self, make: impl FnOnce() -> Result<Look>) -> error::Result<()> {
        let look = make().map_err(thrown)?;
        self.described.push(Some(Asked::Look(look)));
        Ok(())
    }
}
