//! A lock over several independent servers (Redlock): held if most of them granted it in time.
//!
//! It survives the loss of some servers, and replaces no fencing token: one whose clock jumps, or that forgets what it
//! granted, counts like any other. A server that was started a short while ago and keeps no append-only file may have
//! forgotten: it has no vote until everything that it could have granted is over.
//!
//! A server that was away, or forgot, is given the grant anew when it is extended, so that losing servers one after the other
//! does not cost the lock. That adds no vote to the one under way: most of the others have just said that they hold it, so
//! nobody else can have a majority, whatever the server may have forgotten.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, taken_back};
use super::held::HeldLock;
use super::spec::LockSpec;
use crate::lock::lease_table::{Acquire, AcquireOutcome, Grant};
use wire::base::error::{Code, Error, Result};
use wire::base::random;
use wire::base::thread::without_signals;
use wire::call::prelude::*;
use wire::call::script::NamedScript;
use wire::connection::deadline::{SLICE, interruption, sleep_until};
use wire::reactor::CLEAN_UP;
use wire::redis::blocking;
use wire::session::exchange::Exchange;

/// The least time that each server is given.
const LEAST: Duration = Duration::from_millis(5);
/// The longest pause between two rounds; the shortest is a fifth of it.
const PAUSE: Duration = Duration::from_millis(50);

/// Acquires on this thread, in rounds until the attempt's time is over; `keep` is told of the grant.
pub(super) fn acquire(
    mut attempt: Attempt,
    keep: fn(&Arc<HeldLock>),
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    let result = rounds(&mut attempt, keep, interrupted);
    attempt.came_to(&result);
    result
}

fn rounds(attempt: &mut Attempt, keep: fn(&Arc<HeldLock>), interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let spec = attempt.lock.spec.clone();
    loop {
        let sent = spec.now();
        match round(attempt, interrupted) {
            Ok(token) => {
                let held = Arc::new(HeldLock::new(spec.clone(), attempt.id, token, sent));
                // The rounds may have taken longer than the lease lasts.
                if held.is_held() {
                    if !attempt.lock.granted(&held, attempt.number) {
                        clean_up_everywhere(attempt, interrupted);
                        return Err(taken_back());
                    }
                    keep(&held);
                    return Ok(true);
                }
                attempt.lock.refused("the servers took longer than the ttl".to_owned());
            }
            Err(why) => attempt.lock.refused(why.message().to_owned()),
        }
        clean_up_everywhere(attempt, interrupted);
        if attempt.is_abandoned() {
            return Err(taken_back());
        }
        if interrupted() {
            return Err(interruption());
        }
        let [share] = random::bytes::<1>()?;
        let pause = PAUSE.mul_f64(0.2 + 0.8 * f64::from(share) / 255.0);
        if attempt.until.saturating_duration_since(Instant::now()) < pause {
            return Ok(false);
        }
        sleep_until(Instant::now() + pause, interrupted)?;
        // What was left under the old id is refused from now on.
        attempt.id = random::bytes()?;
    }
}

/// Asks all servers once: the token if most of them granted, else why not.
fn round(attempt: &Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<u64> {
    let spec = &attempt.lock.spec;
    let ask = |node: &LockSpec, floor: u64, over: &AtomicBool| {
        let mut question = attempt.question();
        (question.keys, question.floor) = (node.keys.clone(), floor);
        call(node, Box::new(question), over)
    };
    let first = everywhere(spec, interrupted, |node, over| {
        if may_have_forgotten(node, over)? {
            let what =
                format!("{} was started less than a ttl ago and keeps no append-only file", node.session.endpoint);
            return Err(Error::new(
                Code::NotAcquired,
                format!("{what}: it may have forgotten what it granted, so wait for one ttl"),
            ));
        }
        ask(node, attempt.lock.floor(), over)
    });
    let token = most(spec, &first, granted)?.into_iter().max().unwrap_or_default();
    // Two majorities have a server in common, but it need not be the one that gave the largest token: so most of them
    // must know it before it is used.
    let second = everywhere(spec, interrupted, |node, over| ask(node, token - 1, over));
    most(spec, &second, granted)?;
    Ok(token)
}

/// Extends: true if most of the servers did; false if so many don't hold it that most cannot.
pub(super) fn extend(held: &HeldLock, ttl: u64) -> Result<bool> {
    let spec = &held.spec;
    let answers = everywhere(spec, &mut || false, |node, over| call(node, Box::new(node.extend(held.id, ttl)), over));
    let lacks = |(node, answer)| says(answer, false).then_some(node);
    let lacking: Vec<&LockSpec> = nodes(spec).zip(&answers).filter_map(lacks).collect();
    let done = decided(spec, answers)?;
    if done && !lacking.is_empty() {
        regain(held, ttl, &lacking);
    }
    Ok(done)
}

/// Gives the grant anew to servers that don't have it, where nobody else does.
fn regain(held: &HeldLock, ttl: u64, lacking: &[&LockSpec]) {
    at_each(lacking, &mut || !held.is_held(), |node, over| {
        let question = Acquire { ttl, token: held.token, ..node.question(held.id, node.who()) };
        let answer = call(node, Box::new(question), over);
        // Released meanwhile: that may have come here before the grant.
        if !held.is_held() {
            return call(node, Box::new(node.release(held.id, node.tombstone())), &AtomicBool::new(false));
        }
        answer
    });
}

/// Releases everywhere: true if most of the servers held it.
pub(crate) fn release(held: &HeldLock, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let spec = &held.spec;
    // A renewal under way may be about to give it to a server anew.
    let release = |node: &LockSpec| Box::new(node.release(held.id, node.tombstone()));
    let answers = everywhere(spec, interrupted, |node, over| call(node, release(node), over));
    decided(spec, answers)
}

/// Takes the lock away from whoever holds it, everywhere: from how many, by the server that knew of most.
pub(super) fn force_release(spec: &LockSpec) -> Result<u64> {
    let answers = everywhere(spec, &mut || false, |node, over| call(node, Box::new(node.force_release()), over));
    let count = |answer: &Answer| answer.get::<u64>().copied();
    Ok(most(spec, &answers, count)?.into_iter().max().unwrap_or_default())
}

/// Takes back everywhere what an attempt may have left.
fn clean_up_everywhere(attempt: &Attempt, interrupted: &mut dyn FnMut() -> bool) {
    let mut since = None;
    let mut gives_up = || {
        since = since.or_else(|| interrupted().then(Instant::now));
        since.is_some_and(|since| since.elapsed() >= CLEAN_UP)
    };
    let take_back =
        |node: &LockSpec, over: &AtomicBool| call(node, Box::new(node.release(attempt.id, node.tombstone())), over);
    everywhere(&attempt.lock.spec, &mut gives_up, take_back);
}

/// Whether a server answered so.
fn says(answer: &Result<Answer>, what: bool) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.get() == Some(&what))
}

fn granted(answer: &Answer) -> Option<u64> {
    match answer.get::<Grant>()?.outcome {
        AcquireOutcome::Granted { token, .. } => Some(token),
        _ => None,
    }
}

/// What most of the servers said; else what one of the others did, as the reason why not.
fn most<T>(spec: &LockSpec, answers: &[Result<Answer>], read: impl Fn(&Answer) -> Option<T>) -> Result<Vec<T>> {
    let said: Vec<T> = answers.iter().flatten().filter_map(read).collect();
    if said.len() >= majority(spec) {
        return Ok(said);
    }
    let failed = answers.iter().find_map(|answer| answer.as_ref().err());
    let why = failed.map_or("others hold it".to_owned(), |error| error.message().to_owned());
    let (votes, all) = (said.len(), answers.len());
    Err(Error::new(Code::NotAcquired, format!("{votes} of {all} servers granted it ({why})")))
}

/// The flag that most of the servers answered.
fn decided(spec: &LockSpec, answers: Vec<Result<Answer>>) -> Result<bool> {
    let (all, needed) = (answers.len(), majority(spec));
    let yes = answers.iter().filter(|answer| says(answer, true)).count();
    let no = answers.iter().filter(|answer| says(answer, false)).count();
    match answers.into_iter().find_map(Result::err) {
        Some(error) if yes < needed && no <= all - needed => Err(error),
        _ => Ok(yes >= needed),
    }
}

fn majority(spec: &LockSpec) -> usize {
    let all = spec.others.len() + 1;
    all / 2 + 1
}

/// The lock on each of the servers.
fn nodes(spec: &LockSpec) -> impl Iterator<Item = &LockSpec> {
    std::iter::once(spec).chain(spec.others.iter().map(Arc::as_ref))
}

/// Does something for each server at once.
fn everywhere(
    spec: &LockSpec,
    interrupted: &mut dyn FnMut() -> bool,
    what: impl Fn(&LockSpec, &AtomicBool) -> Result<Answer> + Sync,
) -> Vec<Result<Answer>> {
    at_each(&nodes(spec).collect::<Vec<_>>(), interrupted, what)
}

/// Does something for each of these servers at once. `interrupted` is asked now and then, on this thread; true ends what is
/// under way.
fn at_each(
    nodes: &[&LockSpec],
    interrupted: &mut dyn FnMut() -> bool,
    what: impl Fn(&LockSpec, &AtomicBool) -> Result<Answer> + Sync,
) -> Vec<Result<Answer>> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Nothing is ever sent: it closes when the last thread has ended.
        let (working, ended) = channel::<()>();
        let start = |node| {
            let (what, over, working) = (&what, &over, working.clone());
            let work = move || {
                let _working = working;
                what(node, over)
            };
            without_signals(|| std::thread::Builder::new().spawn_scoped(scope, work))
        };
        let threads: Vec<_> = nodes.iter().copied().map(start).collect();
        drop(working);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(SLICE) {
            if interrupted() {
                over.store(true, Ordering::Relaxed);
            }
        }
        let failed = |why: &str| Err(Error::new(Code::Unavailable, format!("{why}: raise the process' limits")));
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, Result<Answer>>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| failed("a thread failed")),
            Err(e) => failed(&format!("no thread could be started ({e})")),
        };
        threads.into_iter().map(join).collect()
    })
}

/// A call of one server, which has a twentieth of the ttl to answer it, unless it is `over` before.
fn call(node: &LockSpec, command: Box<dyn Command>, over: &AtomicBool) -> Result<Answer> {
    let within = Duration::from_micros(node.options.ttl / 20).max(LEAST);
    let parting = command.gives_back();
    let exchange = Exchange::new(node.session.clone(), command, None).within(within);
    let exchange = if parting { exchange.parting() } else { exchange };
    blocking::run(exchange, &mut || over.load(Ordering::Relaxed))
}

/// Whether a server could have granted what it knows no more.
fn may_have_forgotten(node: &LockSpec, over: &AtomicBool) -> Result<bool> {
    if node.session.endpoint.is_memory() {
        return Ok(false);
    }
    let age = Age { key: node.keys[0].clone(), shown: node.shown.clone(), ttl: node.options.ttl };
    call(node, Box::new(age), over)?.take().map(|is_old: bool| !is_old)
}

/// Asks a server how old it is: true if it can be trusted to know what it granted for a ttl.
struct Age {
    key: Vec<u8>,
    shown: Arc<str>,
    ttl: u64,
}

static AGE: NamedScript = NamedScript::new("lock-age", &[], &[include_str!("age.lua")]);

/// The script that only locks over several servers need.
pub(crate) fn scripts() -> Vec<(String, String)> {
    vec![AGE.listed()]
}

impl Command for Age {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &AGE,
            keys: slice::from_ref(&self.key),
            effect: Effect::Looks,
            name: ("age of the server of", &self.shown),
        }
    }

    fn twin(&self, _space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        // Memory that was started anew has no clients of before.
        Ok(vec![Reply::Int(1), Reply::Int(now as i64), Reply::Int(0), Reply::Int(1)])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let (seconds, keeps) = (unsigned(fields, 0)?, unsigned(fields, 1)? == 1);
        Ok(Answer::new(keeps || seconds.saturating_mul(1_000_000) > self.ttl))
    }
}
