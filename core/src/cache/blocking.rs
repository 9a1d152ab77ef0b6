//! Getting an entry on the caller's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Got;
use super::reader::{Next, Reader};
use crate::client::Shared;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::lock::Request;
use crate::op::typed;
use crate::operation::Operation;
use crate::store::redis::hub::{self, Sink};
use crate::store::redis::listening::Listening;
use crate::store::redis::patience::interruption;
use crate::store::redis::seat::Sitting;
use crate::store::redis::{pipeline, pool};

/// What taking back a lease may cost the caller, who waits for it.
const CLEAN_UP: Duration = Duration::from_millis(100);

/// Sends what frees a lease, and waits a little for it. What is left all the same ends by itself.
pub(super) fn leave_here(shared: &Arc<Shared>, leave: Box<dyn Operation>) {
    leave_all_here([(shared.clone(), leave)]);
}

/// As [`leave_here`], of several leases of one client, which travel together.
pub(super) fn leave_all_here(leaves: impl IntoIterator<Item = (Arc<Shared>, Box<dyn Operation>)>) {
    let leave = |(shared, leave)| Exchange::new(shared, leave, None).within(CLEAN_UP);
    pipeline::run_all(leaves.into_iter().map(leave).collect(), &mut || false);
}

/// Asks, and waits on this thread.
pub(super) fn get(mut reader: Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    reader.here = true;
    let spec = &reader.place.spec;
    let mut listening = Listening::new(&spec.shared, &spec.wake_prefix, reader.until);
    loop {
        if let Some(channel) = listening.channel() {
            reader.hear_at(channel);
        }
        let answer = pool::run(reader.exchange(), interrupted);
        let step = match reader.on_answer(answer) {
            Next::Done(done) => return done,
            Next::Listen => listening.listen(interrupted),
            Next::Rest(until) => match listening.rest(&reader.place.topic(), until, interrupted) {
                Ok(()) if Instant::now() >= reader.until => return Err(reader.late()),
                rested => rested,
            },
        };
        if let Err(error) = step {
            return reader.on_failure(error);
        }
    }
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn get_among_threads(mut reader: Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    let answer = pool::run(reader.exchange(), interrupted);
    if let Next::Done(done) = reader.on_answer(answer) {
        return done;
    }
    let seat = Arc::new(Sitting::default());
    let sink: Arc<dyn Sink> = seat.clone();
    hub::request(Request::Read(reader), 0, &sink);
    match seat.wait(interrupted) {
        Some(answer) => typed(answer),
        None => {
            hub::cancel(0, &sink);
            Err(interruption())
        }
    }
}
