//! Clients and limiters as JavaScript holds them: what is constructed, and what is answered without a call.

use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, BufferSlice, Function};
use napi_derive::napi;
use quotalock::{Algorithm, Answer, LimiterOptions, OnError, Op, Options, Policy, convert, metrics};

use crate::error::{Result, thrown};
use crate::password::Questions;

/// What returns where in its user's code a limiter is made; empty if that is not known.
type Place<'f> = Function<'f, (), String>;

/// A client of one Redis, or of this process' memory.
#[napi]
pub struct Client {
    pub(crate) inner: Arc<quotalock::Client>,
    /// What gives back what it held when it was closed.
    pub(crate) closing: Option<Op<Answer>>,
}

/// How a client is made; what is missing is as the core has it.
#[napi(object)]
pub struct ClientInput {
    /// What every Redis key starts with.
    pub prefix: Option<String>,
    /// The time a call may take.
    pub timeout_ms: Option<f64>,
    /// What is answered when Redis cannot.
    pub on_error: Option<String>,
    /// For how long a call with a request id is remembered.
    pub request_memory_ms: Option<f64>,
    /// For how long a denial is remembered at most.
    pub deny_cache_max_ms: Option<f64>,
    /// Whether it tells Redis what it decides.
    pub report: Option<bool>,
}

/// One rule of a policy that was given as objects.
#[napi(object)]
pub struct RuleInput {
    /// The amount per period.
    pub limit: f64,
    /// The period in milliseconds.
    pub period_ms: f64,
    /// How the rule counts.
    pub algorithm: String,
    /// The most that may be consumed at once; without it, the limit.
    pub capacity: Option<f64>,
}

/// Makes the memory for denials and that for counters, and says why they cannot be in the files that the environment names.
#[napi(catch_unwind)]
pub fn share_memory() -> Vec<String> {
    let file = quotalock::deny_cache_file();
    let denials = quotalock::prepare_deny_cache(quotalock::DEFAULT_DENY_CACHE_KB, file.as_deref());
    let counters = metrics::prepare(metrics::file().as_deref());
    [denials, counters]
        .into_iter()
        .filter_map(std::result::Result::err)
        .map(|problem| problem.message().to_owned())
        .collect()
}

/// What to warn the user of next, if there is something to say.
#[napi(catch_unwind)]
pub fn limiter_warning() -> Option<String> {
    quotalock::limiter_warning()
}

/// Sends what is not reported yet, and waits for it: for the end of the process.
#[napi(catch_unwind)]
pub fn report_now() {
    quotalock::reports::flush();
}

#[napi]
impl Client {
    /// Makes a client; no URL asks the environment. Questions are for one client.
    #[napi(constructor, catch_unwind)]
    pub fn new(url: Option<String>, given: ClientInput, questions: Option<&mut Questions>) -> Result<Client> {
        let make = || {
            let time = |what, given: Option<f64>, default| {
                given.map_or(Ok(default), |ms| convert::micros_from_float_ms(what, ms).map(convert::duration))
            };
            quotalock::reports::set_language("node");
            let base = Options::default();
            quotalock::Client::new(Options {
                url,
                prefix: given.prefix.unwrap_or(base.prefix),
                timeout: time("timeout", given.timeout_ms, base.timeout)?,
                on_error: given.on_error.map_or(Ok(base.on_error), |word| OnError::parse(&word))?,
                request_memory: time("request_memory", given.request_memory_ms, base.request_memory)?,
                deny_cache_max: time("deny_cache_max", given.deny_cache_max_ms, base.deny_cache_max)?,
                report: given.report.unwrap_or(base.report),
                password: questions.and_then(|questions| questions.provider.take()),
            })
        };
        make().map(|inner| Client { inner: Arc::new(inner), closing: None }).map_err(thrown)
    }

    /// What every Redis key starts with.
    #[napi(getter, catch_unwind)]
    pub fn prefix(&self) -> &str {
        self.inner.prefix()
    }

    /// The server's name, without a password.
    #[napi(getter, catch_unwind)]
    pub fn server(&self) -> String {
        self.inner.server()
    }

    /// Closes it; true if what it held is to be given back.
    #[napi(catch_unwind)]
    pub fn close(&mut self) -> bool {
        self.closing = self.inner.close_elsewhere().map(Op::erased);
        self.closing.is_some()
    }

    /// Makes a limiter by a policy's text.
    #[napi(catch_unwind)]
    pub fn limiter_by_text(
        &self,
        name: String,
        policy: String,
        scope: Option<BufferSlice>,
        enforce: bool,
        prefetch: Option<f64>,
        place: Place<'_>,
    ) -> Result<Limiter> {
        let policy = Policy::parse(&policy).map_err(thrown)?;
        self.limiter(&name, policy, scope, enforce, prefetch, &place)
    }

    /// Makes a limiter by a policy's rules.
    #[napi(catch_unwind)]
    pub fn limiter_by_rules(
        &self,
        name: String,
        rules: Vec<RuleInput>,
        scope: Option<BufferSlice>,
        enforce: bool,
        prefetch: Option<f64>,
        place: Place<'_>,
    ) -> Result<Limiter> {
        let rules: quotalock::Result<Vec<quotalock::Rule>> = rules.iter().map(rule).collect();
        let policy = rules.and_then(Policy::new).map_err(thrown)?;
        self.limiter(&name, policy, scope, enforce, prefetch, &place)
    }

    fn limiter(
        &self,
        name: &str,
        policy: Policy,
        scope: Option<BufferSlice>,
        enforce: bool,
        prefetch: Option<f64>,
        place: &Place<'_>,
    ) -> Result<Limiter> {
        let prefetch =
            prefetch.map(|prefetch| convert::unsigned_float("prefetch", prefetch)).transpose().map_err(thrown)?;
        let options = LimiterOptions { scope: scope.map(|bytes| bytes.to_vec()), enforce, prefetch };
        let place = || place.call(()).ok().filter(|place| !place.is_empty());
        self.inner.limiter_at(name, policy, options, place).map(|inner| Limiter { inner }).map_err(thrown)
    }
}

fn rule(given: &RuleInput) -> quotalock::Result<quotalock::Rule> {
    let algorithm = Algorithm::parse(&given.algorithm)?;
    let (limit, period) =
        (convert::rule_amount("limit", given.limit)?, convert::micros_from_float_ms("period", given.period_ms)?);
    let capacity = given.capacity.map(|capacity| convert::rule_amount("capacity", capacity)).transpose()?;
    quotalock::Rule::of(algorithm, limit, period, capacity)
}

/// A named policy.
#[napi]
pub struct Limiter {
    pub(crate) inner: quotalock::Limiter,
}

#[napi]
impl Limiter {
    /// The policy in its canonical form.
    #[napi(getter, catch_unwind)]
    pub fn policy(&self) -> String {
        self.inner.policy().to_string()
    }

    /// Whether it always answers at once.
    #[napi(getter, catch_unwind)]
    pub fn in_memory(&self) -> bool {
        self.inner.is_in_memory()
    }

    /// The user was warned of the limiters of its name.
    #[napi(catch_unwind)]
    pub fn name_is_known(&self) {
        self.inner.name_is_known();
    }

    /// The Redis key that holds the state of a key.
    #[napi(catch_unwind)]
    pub fn redis_key(&self, key: BufferSlice) -> Result<Buffer> {
        self.inner.redis_key(&key).map(Buffer::from).map_err(thrown)
    }

    /// The reservation of this key and id, made here or in another process. Does no I/O.
    #[napi(catch_unwind)]
    pub fn reservation(&self, key: BufferSlice, id: String) -> Result<Reservation> {
        self.inner.reservation(&key, &id).map(|inner| Reservation { inner }).map_err(thrown)
    }
}

/// An estimate that was charged, to be settled.
#[napi]
pub struct Reservation {
    pub(crate) inner: quotalock::Reservation,
}

#[napi]
impl Reservation {
    /// The id: 32 hexadecimal digits.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> String {
        self.inner.id()
    }

    /// What to warn of if no handle keeps it; nothing if it was settled, or its id is known.
    #[napi(catch_unwind)]
    pub fn let_go(&self) -> Option<String> {
        self.inner.let_go()
    }
}
