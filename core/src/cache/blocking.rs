//! Getting an entry on the caller's thread.

use std::sync::Arc;
use std::time::Instant;

use super::Got;
use super::reader::{Next, Reader};
use super::readers;
use crate::base::error::Result;
use crate::call::sink::Sink;
use crate::connection::patience::{interruption, sleep_until};
use crate::op::typed;
use crate::reactor::completion::Sitting;
use crate::reactor::thread;
use crate::redis::blocking;
use crate::redis::listening::Listening;

/// Asks, and waits on this thread.
pub(super) fn get(mut reader: Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    reader.here = true;
    let spec = &reader.place.spec;
    let mut listening = Listening::new(&spec.shared, &spec.wake_prefix, reader.until);
    loop {
        reader.hear_at(listening.channel());
        let answer = blocking::run(reader.exchange(), interrupted);
        let step = match reader.on_answer(answer) {
            Next::Done(done) => return done,
            Next::Listen => listening.listen(interrupted),
            Next::Rest(until) => match listening.rest(&reader.place.topic(), until, interrupted) {
                Ok(()) if Instant::now() >= reader.until => return reader.over(),
                rested => rested,
            },
        };
        let Err(error) = step else { continue };
        match reader.outlasts(&error) {
            Some(until) => sleep_until(until, interrupted)?,
            None => return reader.on_failure(error),
        }
    }
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn get_among_threads(mut reader: Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    let answer = blocking::run(reader.exchange(), interrupted);
    if let Next::Done(done) = reader.on_answer(answer) {
        return done;
    }
    let seat = Arc::new(Sitting::default());
    let sink: Arc<dyn Sink> = seat.clone();
    readers::enter(reader, 0, &sink);
    match seat.wait(interrupted) {
        Some(answer) => typed(answer),
        None => {
            thread::cancel(0, &sink);
            Err(interruption())
        }
    }
}
