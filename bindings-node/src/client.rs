//! Clients and limiters as JavaScript holds them: what is constructed, and what is answered without a call.

use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::{Algorithm, Answer, LimiterOptions, OnError, Op, Options, Policy, convert};

use crate::error::{Result, thrown};
use crate::given::{micros, unsigned};

/// A client of one Redis, or of this process' memory.
#[napi]
pub struct Client {
    pub(crate) inner: quotalock::Client,
    /// What gives back what it held when it was closed.
    pub(crate) closing: Option<Op<Answer>>,
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

#[napi]
impl Client {
    /// Makes a client; no URL asks the environment.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        url: Option<String>,
        prefix: String,
        timeout_ms: f64,
        on_error: String,
        memory_ms: f64,
    ) -> Result<Client> {
        let make = || {
            let timeout = convert::duration(micros("timeout", timeout_ms)?);
            let request_memory = convert::duration(micros("request_memory", memory_ms)?);
            let on_error = OnError::parse(&on_error)?;
            quotalock::Client::new(Options { url, prefix, timeout, on_error, request_memory })
        };
        make().map(|inner| Client { inner, closing: None }).map_err(thrown)
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
    ) -> Result<Limiter> {
        let policy = Policy::parse(&policy).map_err(thrown)?;
        self.limiter(&name, policy, scope, enforce)
    }

    /// Makes a limiter by a policy's rules.
    #[napi(catch_unwind)]
    pub fn limiter_by_rules(
        &self,
        name: String,
        rules: Vec<RuleInput>,
        scope: Option<BufferSlice>,
        enforce: bool,
    ) -> Result<Limiter> {
        let rules: quotalock::Result<Vec<quotalock::Rule>> = rules.iter().map(rule).collect();
        let policy = rules.and_then(Policy::new).map_err(thrown)?;
        self.limiter(&name, policy, scope, enforce)
    }

    fn limiter(&self, name: &str, policy: Policy, scope: Option<BufferSlice>, enforce: bool) -> Result<Limiter> {
        let options = LimiterOptions { scope: scope.map(|bytes| bytes.to_vec()), enforce };
        self.inner.limiter_with(name, policy, options).map(|inner| Limiter { inner }).map_err(thrown)
    }
}

fn rule(given: &RuleInput) -> quotalock::Result<quotalock::Rule> {
    let algorithm = Algorithm::parse(&given.algorithm)?;
    let (limit, period) = (unsigned("limit", given.limit)?, micros("period", given.period_ms)?);
    let capacity = given.capacity.map(|capacity| unsigned("capacity", capacity)).transpose()?;
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
}
