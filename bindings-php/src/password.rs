//! A password that a function of PHP code tells: called while a call of the same request waits for it, and never kept longer
//! than the request.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use ext_php_rs::types::Zval;
use quotalock::driver::{PasswordQuestion, PasswordQuestions};

use crate::callback::{self, Ended, Ending};

thread_local! {
    // Of the thread, as the clients. That of whoever came last is asked first.
    static ALL: RefCell<Vec<Weak<Teller>>> = const { RefCell::new(Vec::new()) };
}

/// What one PHP `Client` and its limiters know of the password.
pub struct Teller {
    function: RefCell<Option<Zval>>,
    questions: PasswordQuestions,
}

impl Teller {
    /// A function that answers these questions until the request ends.
    pub fn new(function: &Zval, questions: &PasswordQuestions) -> Rc<Teller> {
        let function = RefCell::new(Some(function.shallow_clone()));
        let teller = Rc::new(Teller { function, questions: questions.clone() });
        ALL.with_borrow_mut(|all| {
            all.retain(|teller| teller.strong_count() > 0);
            all.push(Rc::downgrade(&teller));
        });
        teller
    }

    /// The question, if there is one, and the function that answers it.
    fn asked(&self) -> Option<(PasswordQuestion, Zval)> {
        let function = self.function.try_borrow().ok()?.as_ref()?.shallow_clone();
        Some((self.questions.take_question()?, function))
    }
}

/// Answers what is asked of this request's functions; how a function ended the script, if it did.
pub fn answer() -> Option<Ending> {
    let asked = || ALL.with_borrow(|all| all.iter().rev().filter_map(Weak::upgrade).find_map(|teller| teller.asked()));
    while let Some((question, function)) = asked() {
        match callback::call(&function, &[]) {
            Ended::Returned(value) => match value.zend_str().map(|text| std::str::from_utf8(text.as_bytes())) {
                Some(Ok(password)) => question.answer(password.to_owned()),
                Some(Err(_)) => question.fail("it is not UTF-8".into(), None),
                None => {
                    callback::wrong(c"string", &value, c"");
                    question.fail("it returned no string".into(), None);
                    return Some(Ending::Threw);
                }
            },
            Ended::Threw => {
                question.fail("it threw an exception".into(), None);
                return Some(Ending::Threw);
            }
            // The question ends without an answer.
            Ended::Jumped => return Some(Ending::Exited),
        }
    }
    None
}

/// Lets go of all functions, at the end of the request: none may outlive it, also where a jump has left something behind.
pub fn forget_all() {
    for teller in ALL.take().iter().filter_map(Weak::upgrade) {
        let function = teller.function.take();
        drop(function);
    }
}
