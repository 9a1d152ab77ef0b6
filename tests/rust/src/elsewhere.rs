//! The process' thread, asked and listened to as an event loop does.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use quotalock::driver::{self, Sink};
use quotalock::{Answer, AnswerValue, Op, Result};

/// An answer with the number that it was asked for under.
pub type Numbered = (u64, Result<Answer>);

struct Teller(mpsc::Sender<Numbered>);

impl Sink for Teller {
    fn complete(&self, answers: Vec<Numbered>) {
        answers.into_iter().for_each(|answer| self.0.send(answer).unwrap());
    }
}

/// Where answers go, and where they come out.
pub fn sink() -> (Arc<dyn Sink>, mpsc::Receiver<Numbered>) {
    let (tell, told) = mpsc::channel();
    (Arc::new(Teller(tell)), told)
}

/// Has the thread make a call, whose answer comes to the sink under this number.
pub fn submit<T: AnswerValue>(op: Op<T>, number: u64, sink: &Arc<dyn Sink>) {
    sink.complete(driver::submit(vec![(number, op.erased())], sink));
}

/// Has the thread do something, and waits for its answer.
///
/// # Errors
/// That of the answer.
///
/// # Panics
/// If none comes within half a minute, or one of another kind.
pub fn elsewhere<T: AnswerValue>(submit: impl FnOnce(&Arc<dyn Sink>)) -> Result<T> {
    let (sink, told) = sink();
    submit(&sink);
    let (_, answer) = told.recv_timeout(Duration::from_secs(30)).expect("no answer comes");
    answer?.take()
}
