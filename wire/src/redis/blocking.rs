//! The blocking driver: a connection per thread at work, kept for the next call; one write and one read per call.

use std::time::Instant;

use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::call::refusal;
use crate::call::resp::{Reply, ReplyLimit};
use crate::connection::deadline::{interruption, sleep_until};
use crate::connection::open::not_redis;
use crate::connection::wire::{Broken, Failure, Wire};
use crate::session::exchange::redirected::of_both;
use crate::session::exchange::{Exchange, Step};

/// Drives an exchange to its end on this thread.
pub fn run(mut exchange: Exchange, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
    let mut step = exchange.start();
    loop {
        step = match step {
            Step::Done(answer) => return answer,
            Step::Send => send(&mut exchange, interrupted),
            Step::Sleep(pause) => {
                sleep_until(Instant::now() + pause, interrupted)?;
                exchange.start()
            }
            Step::Discover => discover(&mut exchange, interrupted)?,
        }
    }
}

/// Has the servers found, and starts a call again that could not go on without.
pub(super) fn discover(exchange: &mut Exchange, interrupted: &mut dyn FnMut() -> bool) -> Result<Step> {
    let session = exchange.session().clone();
    match session.discover(exchange.deadline(), interrupted) {
        Err(Broken::Interrupted) => Err(interruption()),
        _ if Instant::now() >= exchange.deadline() => Ok(exchange.on_timeout_unsent()),
        _ => Ok(exchange.start()),
    }
}

/// One attempt: takes or makes a connection and repeats on it for as long as the exchange asks at once.
fn send(exchange: &mut Exchange, interrupted: &mut dyn FnMut() -> bool) -> Step {
    let Some(node) = exchange.node().cloned() else { return Step::Done(Err(astray())) };
    let (server, timeout) = (&node.server, exchange.session().timeout);
    let mut wire = match node.connect(timeout, exchange.deadline(), interrupted) {
        Ok(wire) => wire,
        Err(error) => return exchange.on_failure(Failure::NotSent(error)),
    };
    loop {
        let reply = match ask(&mut wire, exchange, server, interrupted) {
            Ok(reply) => reply,
            Err(Broken::Interrupted) => return Step::Done(Err(interruption())),
            Err(Broken::TimedOut) => {
                let asked = exchange.deadline().checked_sub(timeout);
                asked.into_iter().for_each(|then| node.pool.distrust(then));
                return exchange.on_timeout();
            }
            // The peer was gone before we wrote: another connection may do.
            Err(Broken::Failed(Failure::NotSent(_))) => match node.connect(timeout, exchange.deadline(), interrupted) {
                Ok(fresh) => {
                    wire = fresh;
                    continue;
                }
                Err(error) => return exchange.on_failure(Failure::NotSent(error)),
            },
            Err(Broken::Failed(failure)) => return exchange.on_failure(failure),
        };
        let mut step = exchange.on_reply(reply, &mut wire.clock);
        if let Some((replicas, patience)) = exchange.wanted_acks(&step) {
            step = match wire.acks(replicas, patience, timeout, server, interrupted) {
                Ok(Reply::Int(acks)) => exchange.on_acks(acks.max(0) as u64, step),
                Ok(Reply::Error(text)) => {
                    return Step::Done(Err(refusal::not_permitted(&text, None, &server.to_string())));
                }
                Ok(other) => return exchange.on_failure(Failure::Unknown(not_redis(server, &format!("{other:?}")))),
                Err(Broken::Interrupted) => return Step::Done(Err(interruption())),
                Err(Broken::TimedOut) => return exchange.on_timeout(),
                Err(Broken::Failed(Failure::NotSent(error) | Failure::Unknown(error))) => {
                    return Step::Done(Err(error));
                }
            };
        }
        if exchange.wants_another_server() {
            node.pool.distrust(Instant::now());
            return step;
        }
        if !matches!(step, Step::Send) || !exchange.is_for(&node) {
            if exchange.session().engine().route.look(&mut wire, &node, exchange.deadline()) {
                node.pool.give_back(wire);
            }
            return step;
        }
    }
}

/// The error for a call that is to be sent without a server to send it to.
pub(super) fn astray() -> Error {
    Error::new(Code::Internal, "a call was sent before it was started")
}

/// Sends the call and reads its reply. After an error the connection is of no use.
fn ask(
    wire: &mut Wire,
    exchange: &Exchange,
    server: &Server,
    interrupted: &mut dyn FnMut() -> bool,
) -> std::result::Result<Reply, Broken> {
    wire.clear();
    encode(wire, exchange);
    wire.send(exchange.deadline(), server, interrupted)?;
    receive(wire, exchange, server, interrupted)
}

/// Reads the reply to a call.
pub(super) fn receive(
    wire: &mut Wire,
    exchange: &Exchange,
    server: &Server,
    interrupted: &mut dyn FnMut() -> bool,
) -> std::result::Result<Reply, Broken> {
    let mut asked = None;
    if exchange.is_asking() {
        asked = Some(wire.receive(exchange.deadline(), ReplyLimit::TINY, server, interrupted)?);
    }
    let reply = wire.receive(exchange.deadline(), exchange.reply_limit(), server, interrupted)?;
    Ok(of_both(asked, reply))
}

/// Encodes a call behind those that are to be sent with it; returns the size of all in bytes.
pub(super) fn encode(wire: &mut Wire, exchange: &Exchange) -> usize {
    let (out, clock) = wire.outgoing();
    exchange.encode(out, clock);
    out.len()
}
