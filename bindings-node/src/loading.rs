//! A load: what is next the core says. A channel carries it out, and JavaScript calls the function.

use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::driver::{self, LoadStep};
use quotalock::{Answer, Code, Error, Op};

use crate::error::{Result, thrown};
use crate::look::{Shared, locked};

/// One load. Forgotten, it frees the way for the next caller.
#[napi]
pub struct Loading {
    pub(crate) core: Shared,
    /// The look that is next.
    look: Option<Op<Answer>>,
    /// The calls that end the load.
    ends: Vec<Option<Op<Answer>>>,
}

/// What is next; neither is what a channel is to carry out.
#[napi(object)]
pub struct Todo {
    /// The values, which are all.
    pub values: Option<Vec<Option<Buffer>>>,
    /// The places of the keys whose values are to be made.
    pub missing: Option<Vec<u32>>,
}

#[napi]
impl Loading {
    /// What is next.
    #[napi(catch_unwind)]
    pub fn next(&mut self) -> Result<Todo> {
        let next = locked(&self.core).next().map_err(thrown)?;
        Ok(match next {
            LoadStep::Ask(mut calls) => {
                self.look = calls.pop();
                Todo { values: None, missing: None }
            }
            LoadStep::Load(places) => {
                Todo { values: None, missing: Some(places.into_iter().map(|at| at as u32).collect()) }
            }
            LoadStep::Done(values) => {
                // Others may have the bytes too: they are copied only if so.
                let bytes = |value: driver::Value| value.map(|value| Arc::unwrap_or_clone(value).into());
                Todo { values: Some(values.into_iter().map(bytes).collect()), missing: None }
            }
        })
    }

    /// Takes what was made for the places; tells how many calls store it.
    #[napi(catch_unwind)]
    pub fn loaded(&mut self, values: Vec<Option<BufferSlice>>) -> u32 {
        let values = values.into_iter().map(|value| value.map(|value| value.to_vec())).collect();
        let calls = locked(&self.core).loaded(values);
        self.end(calls)
    }

    /// Takes that nothing was made, and why, if others are to know; tells how many calls say so.
    #[napi(catch_unwind)]
    pub fn failed(&mut self, error: Option<String>) -> u32 {
        let calls = locked(&self.core).failed(error.as_deref());
        self.end(calls)
    }

    /// Takes that the calls are over. What one of them failed with JavaScript knows.
    #[napi(catch_unwind)]
    pub fn ended(&mut self) {
        locked(&self.core).on_answers(Vec::new());
    }

    /// Frees the way for others.
    #[napi(catch_unwind)]
    pub fn leave(&mut self) {
        locked(&self.core).abandon();
        self.look = None;
        self.ends.clear();
    }
}

impl Loading {
    /// Makes a load of what describes it.
    pub fn new(described: impl Into<driver::Loading>) -> Loading {
        Loading { core: Arc::new(Mutex::new(described.into())), look: None, ends: Vec::new() }
    }

    /// What is to be carried out.
    pub fn look(&mut self) -> quotalock::Result<(Op<Answer>, Shared)> {
        Ok((self.look.take().ok_or_else(nothing)?, self.core.clone()))
    }

    /// One of the calls that end it.
    pub fn call(&mut self, place: u32) -> quotalock::Result<Op<Answer>> {
        self.ends.get_mut(place as usize).and_then(Option::take).ok_or_else(nothing)
    }

    fn end(&mut self, calls: Vec<Op<Answer>>) -> u32 {
        self.ends = calls.into_iter().map(Some).collect();
        self.ends.len() as u32
    }
}

fn nothing() -> Error {
    Error::new(Code::Internal, "a load has nothing to carry out")
}
