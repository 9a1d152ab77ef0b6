//! Clients and limiters as JavaScript holds them: what is constructed, and what is answered without a call.

use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::{Algorithm, OnError, Options, Policy, convert};

use crate::error::{Result, thrown};

/// A client of one Redis, or of this process' memory.
#[napi]
pub struct Client {
    pub(crate) inner: quotalock::Client,
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
    pub fn new(url: Option<String>, prefix: String, timeout_ms: f64, on_error: String) -> Result<Client> {
        let make = || {
            let timeout = convert::micros_from_ms("timeout", convert::whole("timeout", timeout_ms)?)?;
            let on_error = OnError::parse(&on_error)?;
            quotalock::Client::new(Options {
                url,
                prefix,
                timeout: convert::duration(timeout),
                on_error,
                ..Options::default()
            })
        };
        make().map(|inner| Client { inner }).map_err(thrown)
    }

    /// The server's name, without a password.
    #[napi(getter, catch_unwind)]
    pub fn server(&self) -> String {
        self.inner.server()
    }

    /// Closes the connections; calls under way end with `closed`.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.inner.close();
    }

    /// Makes a limiter by a policy's text.
    #[napi(catch_unwind)]
    pub fn limiter_by_text(&self, name: String, policy: String) -> Result<Limiter> {
        let policy = Policy::parse(&policy).map_err(thrown)?;
        self.limiter(&name, policy)
    }

    /// Makes a limiter by a policy's rules.
    #[napi(catch_unwind)]
    pub fn limiter_by_rules(&self, name: String, rules: Vec<RuleInput>) -> Result<Limiter> {
        let rules: quotalock::Result<Vec<quotalock::Rule>> = rules.iter().map(rule).collect();
        let policy = rules.and_then(Policy::new).map_err(thrown)?;
        self.limiter(&name, policy)
    }

    fn limiter(&self, name: &str, policy: Policy) -> Result<Limiter> {
        self.inner.limiter(name, policy).map(|inner| Limiter { inner }).map_err(thrown)
    }
}

fn rule(given: &RuleInput) -> quotalock::Result<quotalock::Rule> {
    let algorithm = Algorithm::parse(&given.algorithm)?;
    let limit = convert::unsigned("limit", convert::whole("limit", given.limit)?)?;
    let period = convert::micros_from_ms("period", convert::whole("period", given.period_ms)?)?;
    let rule = quotalock::Rule::new(algorithm, limit, period)?;
    let Some(capacity) = given.capacity else { return Ok(rule) };
    rule.with_capacity(convert::unsigned("capacity", convert::whole("capacity", capacity)?)?)
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
}
