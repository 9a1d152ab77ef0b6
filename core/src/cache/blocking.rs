//! Getting an entry on the caller's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Got;
use super::reader::{Next, Reader};
use crate::client::Shared;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::lock::{Request, Sitting};
use crate::op::typed;
use crate::operation::Operation;
use crate::store::redis::ear::{Ear, Heard};
use crate::store::redis::hub::{self, Sink};
use crate::store::redis::patience::{interruption, sleep_until};
use crate::store::redis::pool;

/// What taking back a lease may cost the caller, who waits for it.
const CLEAN_UP: Duration = Duration::from_millis(100);

/// Sends what frees a lease, and waits a little for it. What is left all the same ends by itself.
pub(super) fn leave_here(shared: &Arc<Shared>, leave: Box<dyn Operation>) {
    let exchange = Exchange::new(shared.clone(), leave, None).within(CLEAN_UP);
    let _ = pool::run(exchange, &mut || false);
}

/// Asks, and waits on this thread.
pub(super) fn get(mut reader: Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    reader.here = true;
    let spec = reader.place.spec.clone();
    let ears = &spec.shared.engine().ears;
    let mut ear: Option<Ear> = None;
    let result = loop {
        let answer = pool::run(reader.exchange(), interrupted);
        match reader.on_answer(answer) {
            Next::Done(done) => break done,
            Next::Listen => match ears.take().map_or_else(|| listen(&reader, interrupted), Ok) {
                Ok(new) => {
                    reader.hear_at(new.channel());
                    ear = Some(new);
                }
                Err(error) => break Err(error),
            },
            Next::Rest(until) => match rest(&mut reader, &mut ear, until, interrupted) {
                Ok(()) if Instant::now() < reader.until => {}
                Ok(()) => break Err(reader.late()),
                Err(error) => break Err(error),
            },
        }
    };
    if let Some(ear) = ear {
        ears.keep(ear);
    }
    result
}

fn listen(reader: &Reader, interrupted: &mut dyn FnMut() -> bool) -> Result<Ear> {
    let spec = &reader.place.spec;
    Ear::for_waiter(&spec.shared, &spec.wake_prefix, reader.until, interrupted)
}

fn rest(
    reader: &mut Reader,
    ear: &mut Option<Ear>,
    until: Instant,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<()> {
    if let Some(listening) = ear {
        if let Heard::Gone = listening.wait(&reader.place.topic(), until, interrupted)? {
            let new = listen(reader, interrupted)?;
            reader.hear_at(new.channel());
            *ear = Some(new);
        }
        return Ok(());
    }
    sleep_until(until, interrupted)
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
