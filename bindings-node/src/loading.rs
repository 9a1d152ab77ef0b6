//! A load: what is next the core says. A channel carries it out, and JavaScript calls the function.

use std::sync::{Arc, Mutex};

use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::driver::{self, LoadCall, LoadStep};
use quotalock::{Answer, Code, Error, Op};

use crate::error::{Result, thrown};
use crate::look::{Look, Shared, locked};

/// One load. Forgotten, it frees the way for the next caller.
#[napi]
pub struct Loading {
    pub(crate) core: Shared,
    step: Option<LoadCall>,
    /// The calls that end the load.
    ends: Vec<Option<Op<bool>>>,
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
            LoadStep::Do(step) => {
                self.step = Some(step);
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
        let step =
            locked(&self.core).loaded(values.into_iter().map(|value| value.map(|value| value.to_vec())).collect());
        self.end(step)
    }

    /// Takes that nothing was made, and why, if others are to know; tells how many calls say so.
    #[napi(catch_unwind)]
    pub fn failed(&mut self, error: Option<String>) -> u32 {
        let step = locked(&self.core).failed(error.as_deref());
        self.end(step)
    }

    /// Takes that the calls are over. What one of them failed with JavaScript knows.
    #[napi(catch_unwind)]
    pub fn ended(&mut self) {
        locked(&self.core).on_ended(None);
    }

    /// Frees the way for others.
    #[napi(catch_unwind)]
    pub fn leave(&mut self) {
        locked(&self.core).abandon();
        self.step = None;
        self.ends.clear();
    }
}

impl Loading {
    /// Makes a load of what describes it.
    pub fn new(described: impl Into<driver::Loading>) -> Loading {
        Loading { core: Arc::new(Mutex::new(described.into())), step: None, ends: Vec::new() }
    }

    /// What is to be carried out.
    pub fn look(&mut self) -> quotalock::Result<Look> {
        match self.step.take() {
            Some(LoadCall::Get(getting)) => Ok(Look::One(getting, self.core.clone())),
            Some(LoadCall::Look(looking)) => Ok(Look::Several(looking, self.core.clone())),
            _ => Err(nothing()),
        }
    }

    /// One of the calls that end it.
    pub fn call(&mut self, place: u32) -> quotalock::Result<Op<Answer>> {
        self.ends.get_mut(place as usize).and_then(Option::take).map(Op::erased).ok_or_else(nothing)
    }

    fn end(&mut self, step: LoadCall) -> u32 {
        self.ends = if let LoadCall::End(calls) = step { calls.into_iter().map(Some).collect() } else { Vec::new() };
        self.ends.len() as u32
    }
}

fn nothing() -> Error {
    Error::new(Code::Internal, "a load has nothing to carry out")
}
