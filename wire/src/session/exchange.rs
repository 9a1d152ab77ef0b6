//! One call on its way: the state machine that every driver feeds with replies and failures.
//!
//! It decides what is sent again (only what provably did not run, or may run twice), when the caller's time is over,
//! when the failure policy answers, and whether a `wait` goes on. It never touches a socket and never sleeps.

mod detour;
pub(crate) mod encoding;
mod failover;
mod fallback;
pub(crate) mod redirected;
mod refused;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::detour::{Detour, DetourReason, StandsFor};
use crate::base::clock::{ServerClock, sleep_for};
use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::breaker::{NotSent, Pass, RefusalBreaker};
use crate::call::command::{Around, Command, OnError, ReplyOrigin, odd_reply, unsigned};
use crate::call::refusal;
use crate::call::resp::{Reply, ReplyLimit};
use crate::connection::wire::Failure;
use crate::metrics::count_call;
use crate::session::cluster::slot::slot_of;
use crate::session::node::Node;
use crate::session::{Route, Session, Way};

/// The pause before a refused call is sent again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// A wait without end in sight is cut at a century: `Instant` cannot hold much more.
const LONGEST_WAIT: Duration = Duration::from_secs(36_500 * 86_400);

/// What the driver does next.
pub enum Step {
    /// The caller has its answer.
    Done(Result<Answer>),
    /// Put `Exchange::encode` on the wire to `Exchange::node` and report the reply or the failure.
    Send,
    /// Call [`Exchange::start`] again after this time.
    Sleep(Duration),
    /// Have the servers found (`Session::discover`), then call [`Exchange::start`] again.
    Discover,
}

/// How many replicas must have what was written, how long they may take to say so, and which answers that is asked of.
#[derive(Clone, Copy)]
struct Acks {
    replicas: u32,
    patience: Duration,
    is_grant: fn(&Answer) -> bool,
}

/// One command of one caller.
pub struct Exchange {
    session: Arc<Session>,
    /// Where it goes in this attempt.
    node: Option<Arc<Node>>,
    /// Of a cluster, where its keys lie.
    slot: u16,
    /// Whether the server of this attempt is asked for once.
    asking: bool,
    /// What came of asking other servers than the one that has its slot as far as is known.
    detour: Option<Box<Detour>>,
    command: Box<dyn Command>,
    /// How long an attempt may take.
    timeout: Duration,
    /// When this attempt is over.
    deadline: Instant,
    /// Until when a denied call is tried again.
    wait_until: Option<Instant>,
    /// Whether the script's text is sent instead of its SHA-1.
    with_text: bool,
    /// Whether keys are left out that it can do without.
    spares_keys: bool,
    /// Whether it travels alone: what it was sent with failed for its key.
    alone: bool,
    /// Whether the next start begins a new attempt, with a timeout of its own.
    fresh: bool,
    /// How an earlier try of this attempt ended, of which nobody knows whether it ran.
    unknown: Option<Error>,
    /// Why this attempt did not run when it was tried last, if it is to be sent again.
    refused: Option<Error>,
    /// Which replicas must have what was written.
    replicas: Option<Acks>,
    /// Whether the last reply came from a server that others have replaced.
    elsewhere: bool,
    /// Whether it is to show that a server works again which refused others.
    pass: Pass,
    repeats: u32,
    /// Whether it is done for a client that is closed.
    parting: bool,
    /// When it was heard last of the server, or of its absence.
    heard: Option<Instant>,
}

/// The slot of all keys of the next call; of one server any. What need not be decided together is narrowed down to one.
///
/// # Errors
/// `cross_slot` if they lie in several: then nothing is sent.
fn slot_of_all(command: &mut dyn Command, route: &Route, endpoint: &Endpoint) -> Result<u16> {
    if route.cluster().is_none() {
        return Ok(0);
    }
    let slot = slot_of(command.key(0).unwrap_or_default());
    let is_crossed = (1..).map_while(|at| command.key(at)).any(|key| slot_of(key) != slot);
    if is_crossed && !command.around_mut().is_some_and(|around| around.narrow(slot_of)) {
        return Err(refusal::cross_slot(command, &endpoint.to_string()));
    }
    Ok(slot)
}

impl Exchange {
    /// A call that begins when it is started; `wait`: for how long it is made again while its answer says when that is worth it.
    pub fn new(session: Arc<Session>, command: Box<dyn Command>, wait: Option<Duration>) -> Exchange {
        let now = Instant::now();
        let wait_until = wait.map(|w| now + w.min(LONGEST_WAIT));
        Exchange {
            timeout: session.timeout,
            deadline: now + session.timeout,
            session,
            node: None,
            slot: 0,
            asking: false,
            detour: None,
            command,
            wait_until,
            with_text: false,
            spares_keys: false,
            alone: false,
            fresh: true,
            unknown: None,
            refused: None,
            replicas: None,
            elsewhere: false,
            pass: Pass::Usual,
            repeats: 0,
            parting: false,
            heard: None,
        }
    }

    /// The same, but to be done in less time than the client's timeout.
    pub fn within(mut self, timeout: Duration) -> Exchange {
        self.timeout = timeout.min(self.session.timeout);
        self
    }

    /// The same, but a closed client does it too: what it held is given back.
    pub fn parting(mut self) -> Exchange {
        self.parting = true;
        self
    }

    /// Its client's.
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The server that it is to be sent to; none before a start has said [`Step::Send`].
    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    /// Whether it is likely to go to this server when it starts.
    pub(crate) fn may_go_to(&self, node: &Node) -> bool {
        match self.session.engine().route.cluster() {
            Some(cluster) => cluster.is_at(slot_of(self.command.key(0).unwrap_or_default()), node),
            None => true,
        }
    }

    /// Whether the server is to be told that it is asked for once: the command for it precedes the call, and has a reply of
    /// its own.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking
    }

    /// Whether it is to be sent to this server.
    pub(crate) fn is_for(&self, node: &Node) -> bool {
        self.node().is_some_and(|to| to.number == node.number)
    }

    /// The name of its server, for messages.
    fn server(&self) -> String {
        self.node.as_ref().map_or_else(|| self.session.endpoint.to_string(), |node| node.server.to_string())
    }

    /// The most that its reply may be.
    pub(crate) fn reply_limit(&self) -> ReplyLimit {
        self.command.reply_limit()
    }

    /// When its time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Begins an attempt: answered at once from memory or by the failure policy, or to be sent.
    pub fn start(&mut self) -> Step {
        if let Err(closed) = self.session.check()
            && !self.parting
        {
            return self.done(Err(closed));
        }
        if self.fresh {
            self.deadline = Instant::now() + self.timeout;
            (self.fresh, self.with_text, self.repeats, self.unknown) = (false, false, 0, None);
            (self.alone, self.spares_keys, self.detour, self.refused) = (false, false, None, None);
        }
        if let Some(answer) = self.command.around().and_then(Around::known) {
            return self.conclude(Ok(answer), 0);
        }
        let engine = self.session.engine();
        if self.session.endpoint.is_memory() {
            let reply = engine.memory.run(&*self.command, self.session.test_time.get());
            return self.conclude(reply.and_then(|mut reply| self.read(&mut reply, Source::Memory)), 0);
        }
        (self.asking, self.elsewhere) = (false, false);
        self.detour.iter_mut().for_each(|detour| detour.begin());
        self.slot = match slot_of_all(&mut *self.command, &engine.route, &self.session.endpoint) {
            Ok(slot) => slot,
            Err(error) => return self.done(Err(error)),
        };
        let node = match engine.route.way(self.slot, self.session.timeout) {
            Way::To(node) => node,
            Way::Guess(node, error) => {
                self.detour().stands_for = Some(StandsFor { primary: node.clone(), error, why: DetourReason::Away });
                node
            }
            Way::Unknown => return Step::Discover,
            Way::Nowhere(refused) => return self.turned_away(refused),
        };
        let admitted = match node.breaker.admit(self.session.timeout) {
            // That no new connection could be made says nothing about those that there are.
            Err(_) if node.is_connected() => Ok(()),
            admitted => admitted,
        };
        if let Err(refused) = admitted {
            self.node = Some(node);
            let retry_after = refused.retry_after;
            let error = self.reason(refused);
            return self.unreachable(error, retry_after);
        }
        let passed = self.pass_by(&node.refusal_breaker);
        self.node = Some(node);
        match passed {
            Ok(pass) => {
                self.pass = pass;
                if let Some(around) = self.command.around_mut() {
                    around.on_send(self.deadline.saturating_duration_since(Instant::now()));
                }
                Step::Send
            }
            Err(refused) if self.node.as_ref().is_some_and(|node| node.is_cut_off()) => {
                let error = self.reason(refused);
                self.cut_off(error, DetourReason::RefusedOthers)
            }
            Err(refused) => self.turned_away(refused),
        }
    }

    /// It is not let through.
    fn turned_away(&mut self, refused: NotSent) -> Step {
        let retry_after = refused.retry_after.as_micros() as u64;
        let error = self.reason(refused);
        self.not_reached(error, retry_after)
    }

    fn reason(&self, refused: NotSent) -> Error {
        refused.error.unwrap_or_else(|| {
            let message = format!("{} did not work a moment ago: check it, or wait", self.server());
            Error::new(Code::Unavailable, message)
        })
    }

    /// How it may go by a server that may refuse it.
    fn pass_by(&self, refusal_breaker: &RefusalBreaker) -> std::result::Result<Pass, NotSent> {
        // What stands in would admit whom Redis has denied, and still denies where it cannot write.
        let glances = self.session.on_error == OnError::Local && self.may_run_locally();
        match refusal_breaker.admit(self.command.mutates(), self.session.timeout) {
            Err(_) if glances && refusal_breaker.reads() => Ok(Pass::Glance),
            pass => pass,
        }
    }

    /// Takes the reply.
    pub fn on_reply(&mut self, reply: Reply, clock: &mut ServerClock) -> Step {
        let now = Instant::now();
        self.heard = Some(now);
        self.node.iter().for_each(|node| node.breaker.success());
        let mut fields = match reply.into_fields() {
            Ok(fields) => fields,
            Err(Reply::Error(text)) => return self.on_refusal(&text),
            Err(other) => {
                let text = self.session.endpoint.scrubbed(&format!("{other:?}")).into();
                return self.done(Err(odd_reply(text)));
            }
        };
        if self.detour.is_some() {
            self.took_over();
        }
        self.node.iter().for_each(|node| node.says_cut_off(false));
        if self.session.test_time.get().is_none()
            && let Some(Reply::Int(micros)) = fields.get(1)
        {
            clock.learn(*micros, now);
        }
        if fields.first() == Some(&Reply::Int(0)) {
            // Refused as too late by the server's clock. It did not run, so if our own clock says that there is time
            // left, the estimate of the server's was off and is mended now.
            return self.again(self.timed_out("arrived at the server too late and was not done"), Duration::ZERO);
        }
        let around = self.command.around();
        if let (Some(stand_in), Some(around)) = (self.session.stand_in, around) {
            let steady = self.session.steady_time();
            let told = fields.get(2..).unwrap_or_default();
            around.teach(told, &mut |key, lesson| stand_in.learn(key, lesson, steady));
        }
        let result = self.read(&mut fields, Source::Redis);
        if let (Ok(answer), Some(around)) = (&result, around) {
            around.on_answer(answer);
        }
        self.note(&result);
        self.conclude(result, 0)
    }

    /// The script ran: shows those who were refused what works again.
    fn note(&self, result: &Result<Answer>) {
        let Some(node) = &self.node else { return };
        let refusal_breaker = &node.refusal_breaker;
        if !refusal_breaker.is_on() {
            return;
        }
        let wrote = result.as_ref().is_ok_and(|answer| self.command.has_written(answer));
        if wrote || self.pass != Pass::Glance {
            refusal_breaker.ran(self.command.mutates(), wrote);
        }
    }

    /// Whether the last reply said that this server is not the right one (any more): the connection is to be given up.
    pub(crate) fn wants_another_server(&self) -> bool {
        self.elsewhere
    }

    /// Takes a failure of the connection.
    pub(crate) fn on_failure(&mut self, failure: Failure) -> Step {
        self.heard = Some(Instant::now());
        self.session.engine().route.doubt();
        match failure {
            Failure::NotSent(error) => self.unreachable(error, Duration::ZERO),
            Failure::Unknown(error) if self.command.is_repeatable() => {
                let first = self.unknown.get_or_insert(error).clone();
                self.again(first, Duration::ZERO)
            }
            Failure::Unknown(error) => self.conclude(Err(error), 0),
        }
    }

    /// This try did not reach the server. If an earlier one may have run, only another answer can tell.
    fn not_reached(&mut self, error: Error, retry_after: u64) -> Step {
        match self.unknown.clone() {
            Some(first) => self.again(first, FIRST_PAUSE),
            None if self.command.gives_back() && error.may_pass() => self.again(error, FIRST_PAUSE),
            None => self.conclude(Err(error), retry_after),
        }
    }

    /// The caller's time is over, and what was sent has no answer. It names what came of an earlier try too.
    pub fn on_timeout(&mut self) -> Step {
        self.heard = Some(Instant::now());
        self.session.engine().route.doubt();
        let error = self.timed_out("got no answer");
        let error = match self.unknown.as_ref().or(self.refused.as_ref()) {
            Some(earlier) => error.reworded(|said| format!("{said}; before that: {}", earlier.message()).into()),
            None => error,
        };
        self.conclude(Err(error), 0)
    }

    /// The caller's time is over before it was sent: no connection was ready, or no server was found. An earlier try may have
    /// run, or was refused: then that is the answer.
    pub fn on_timeout_unsent(&mut self) -> Step {
        self.heard = Some(Instant::now());
        self.session.engine().route.doubt();
        let error = self.unknown.clone().or_else(|| self.refused.take());
        self.conclude(Err(error.unwrap_or_else(|| self.timed_out("could not be sent, and was not done,"))), 0)
    }

    fn timed_out(&self, what: &str) -> Error {
        let (server, ms) = (self.server(), self.timeout.as_millis());
        let before = self.detour.as_ref().and_then(|detour| detour.round.as_ref());
        let before = before.map_or_else(String::new, |round| format!("; before that {round}"));
        let message = format!(
            "{} at {server} {what} within {ms} ms: check the server, or raise the timeout{before}",
            self.command.describe()
        );
        Error::new(Code::Timeout, message)
    }

    fn read(&self, reply: &mut [Reply], source: Source) -> Result<Answer> {
        unsigned(reply, 1)?;
        self.command.decode(&mut reply[2..], ReplyOrigin { source, is_repeated: self.unknown.is_some() })
    }

    /// Lets the failure policy have its say, and a waiting caller wait on.
    fn conclude(&mut self, result: Result<Answer>, retry_after: u64) -> Step {
        let result = match result {
            Err(error) if matches!(error.code(), Code::Unavailable | Code::Timeout) => {
                self.fall_back(error, retry_after)
            }
            Ok(answer) => match self.gather(answer).transpose() {
                Some(whole) => whole,
                None => {
                    // Others have their turn first; the time is that of the whole.
                    (self.with_text, self.repeats, self.unknown) = (false, 0, None);
                    (self.detour, self.refused) = (None, None);
                    return Step::Sleep(Duration::ZERO);
                }
            },
            other => other,
        };
        self.count();
        if let (Ok(answer), Some(until)) = (&result, self.wait_until)
            && let Some(retry_after) = self.command.around().and_then(|around| around.retry_after(answer))
        {
            let pause = sleep_for(retry_after);
            if Instant::now().checked_add(pause).is_some_and(|then| then <= until) {
                self.fresh = true;
                return Step::Sleep(pause);
            }
        }
        self.done(result)
    }

    /// Counts how long the attempt took, if Redis was asked at all.
    fn count(&mut self) {
        let began = self.deadline.checked_sub(self.timeout);
        if let (Some(heard), Some(began)) = (self.heard.take(), began) {
            count_call(self.command.feature(), heard.saturating_duration_since(began));
        }
    }

    /// It is over.
    fn done(&self, result: Result<Answer>) -> Step {
        Step::Done(match self.command.around() {
            Some(around) => around.finish(result),
            None => result,
        })
    }

    fn gather(&mut self, answer: Answer) -> Result<Option<Answer>> {
        match self.command.around_mut() {
            Some(around) => around.gather(answer),
            None => Ok(Some(answer)),
        }
    }

    /// The same, but a grant counts only once so many replicas have it. Needs a connection of its own, since the question to
    /// the replicas holds up all behind it: the blocking driver's.
    pub fn acked_by(mut self, replicas: u32, patience: Duration, is_grant: fn(&Answer) -> bool) -> Exchange {
        self.replicas = (replicas > 0).then_some(Acks { replicas, patience, is_grant });
        self
    }

    /// Whether it must have a connection of its own.
    pub fn is_solitary(&self) -> bool {
        self.replicas.is_some()
    }

    /// How many replicas are to be asked about before this step is taken.
    pub(crate) fn wanted_acks(&self, step: &Step) -> Option<(u32, Duration)> {
        let Acks { replicas, patience, is_grant } = self.replicas?;
        matches!(step, Step::Done(Ok(answer)) if is_grant(answer)).then_some((replicas, patience))
    }

    /// What is to be done after so many replicas have said that they have it.
    pub(crate) fn on_acks(&self, acks: u64, step: Step) -> Step {
        match self.replicas {
            Some(Acks { replicas: wanted, patience, .. }) if acks < u64::from(wanted) => {
                let (ms, server) = (patience.as_millis(), self.server());
                let message = format!(
                    "{acks} of {wanted} replicas of {server} had it within {ms} ms: check them, or ask for fewer"
                );
                Step::Done(Err(Error::new(Code::NotAcquired, message)))
            }
            _ => step,
        }
    }

    /// Whether its twin may stand in while Redis is away.
    fn may_run_locally(&self) -> bool {
        self.command.around().is_some_and(Around::may_run_locally)
    }
}
