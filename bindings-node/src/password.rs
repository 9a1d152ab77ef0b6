//! A password that a function of JavaScript code tells: called on JavaScript's own thread, rung for by others.

use napi::bindgen_prelude::{Function, Unknown};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use quotalock::driver::{PasswordQuestion, PasswordQuestions};
use quotalock::{Cause, PasswordProvider};

use crate::bell::bell;
use crate::error::Result;

/// Where the question for a client's password waits.
#[napi]
pub struct Questions {
    /// For the client that is made.
    pub(crate) provider: Option<PasswordProvider>,
    questions: PasswordQuestions,
}

#[napi]
impl Questions {
    /// Has `asked` called when there may be a question.
    #[napi(constructor, catch_unwind)]
    pub fn new(asked: Function<(), Unknown<'static>>) -> Result<Questions> {
        let bell = bell(&asked)?;
        // An environment that is gone answers nothing.
        let ring = move || _ = bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        let (provider, questions) = PasswordProvider::elsewhere(ring);
        Ok(Questions { provider: Some(provider), questions })
    }

    /// The question, if there is one.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<Question> {
        self.questions.take_question().map(|open| Question { open: Some(open) })
    }
}

/// A call waits for the password.
#[napi]
pub struct Question {
    open: Option<PasswordQuestion>,
}

#[napi]
impl Question {
    /// Answers it.
    #[napi(catch_unwind)]
    pub fn answer(&mut self, password: String) {
        if let Some(open) = self.open.take() {
            open.answer(password);
        }
    }

    /// Answers that the function threw what JavaScript keeps under this number.
    #[napi(catch_unwind)]
    pub fn fail(&mut self, thrown: f64) {
        if let Some(open) = self.open.take() {
            open.fail("it threw an error".into(), Some(Cause::new(thrown)));
        }
    }
}
