//! Locks: handles, and their calls. Those wait for no batch: what takes or frees a lock is on its way at once.

use napi::Env;
use napi::bindgen_prelude::{Buffer, ClassInstance};
use napi_derive::napi;
use quotalock::{LockOptions, convert};

use crate::call::{micros, unsigned};
use crate::channel::Channel;
use crate::client::Client;
use crate::error::{Result, thrown};

/// How a lock is made; what is missing is as the core has it.
#[napi(object)]
pub struct LockInput {
    /// For how long a grant lasts.
    pub ttl_ms: Option<f64>,
    /// Whether those who wait are served in order.
    pub fair: Option<bool>,
    /// Whether a grant is renewed.
    pub renew: Option<bool>,
    /// For how long at most.
    pub max_hold_ms: Option<f64>,
    /// What every fencing token is larger than.
    pub floor: Option<f64>,
    /// What the holder calls itself.
    pub label: Option<String>,
    /// How many replicas must have a grant.
    pub replicas_ack: Option<f64>,
    /// How long to wait for them.
    pub ack_timeout_ms: Option<f64>,
}

impl LockInput {
    fn options(self) -> quotalock::Result<LockOptions> {
        let time = |what, given: Option<f64>, default| given.map_or(Ok(default), |ms| micros(what, ms));
        let count = |what, given: Option<f64>, default| given.map_or(Ok(default), |count| unsigned(what, count));
        let base = LockOptions::default();
        Ok(LockOptions {
            ttl: time("ttl", self.ttl_ms, base.ttl)?,
            fair: self.fair.unwrap_or(base.fair),
            renew: self.renew.unwrap_or(base.renew),
            max_hold: time("max_hold", self.max_hold_ms, base.max_hold)?,
            floor: count("floor", self.floor, base.floor)?,
            label: self.label.unwrap_or(base.label),
            // There are never so many replicas: it is as if none of them answered.
            replicas_ack: count("replicas_ack", self.replicas_ack, base.replicas_ack.into())?
                .try_into()
                .unwrap_or(u32::MAX),
            ack_timeout: time("ack_timeout", self.ack_timeout_ms, base.ack_timeout)?,
        })
    }
}

/// A handle for a lock of any kind.
#[napi]
pub struct Lock {
    inner: quotalock::Lock,
}

#[napi]
impl Client {
    /// Makes a handle for mutexes (`lock`, one name or several), or for a `semaphore`, or for one side of a read-write lock
    /// (`read`, `write`).
    #[napi(catch_unwind)]
    pub fn lock(
        &self,
        kind: String,
        names: Vec<Buffer>,
        permits: f64,
        weight: f64,
        options: LockInput,
    ) -> Result<Lock> {
        let names: Vec<&[u8]> = names.iter().map(AsRef::as_ref).collect();
        let first = names.first().copied().unwrap_or_default();
        let make = || {
            let options = options.options()?;
            match kind.as_str() {
                "semaphore" => {
                    let (permits, weight) = (unsigned("permits", permits)?, unsigned("weight", weight)?);
                    self.inner.semaphore(first, permits, weight, options)
                }
                "read" => self.inner.read_lock(first, options),
                "write" => self.inner.write_lock(first, options),
                _ => self.inner.lock_all(&names, options),
            }
        };
        make().map(|inner| Lock { inner }).map_err(thrown)
    }
}

/// Makes a handle for a mutex over several servers, one for each client.
#[napi(catch_unwind)]
pub fn quorum_lock(clients: Vec<ClassInstance<Client>>, name: Buffer, options: LockInput) -> Result<Lock> {
    let clients: Vec<_> = clients.iter().map(|client| client.inner.clone()).collect();
    let made = options.options().and_then(|options| quotalock::Lock::quorum(&clients, &name, options));
    made.map(|inner| Lock { inner }).map_err(thrown)
}

#[napi]
impl Lock {
    /// The Redis keys, one for each name.
    #[napi(getter, catch_unwind)]
    pub fn redis_keys(&self) -> Vec<Buffer> {
        self.inner.redis_keys().iter().map(|key| key.clone().into()).collect()
    }

    /// The ttl in milliseconds.
    #[napi(getter, catch_unwind)]
    pub fn ttl_ms(&self) -> f64 {
        convert::ms(self.inner.ttl()) as f64
    }

    /// The fencing token of the grant.
    #[napi(getter, catch_unwind)]
    pub fn token(&self) -> Option<f64> {
        self.inner.token().map(|token| token as f64)
    }

    /// How sure the handle is of its lock.
    #[napi(getter, catch_unwind)]
    pub fn state(&self) -> &'static str {
        self.inner.state().as_str()
    }

    /// Whether it is held for certain.
    #[napi(getter, catch_unwind)]
    pub fn held(&self) -> bool {
        self.inner.is_held()
    }

    /// For how many milliseconds it is; rounded down, for they are a promise.
    #[napi(getter, catch_unwind)]
    pub fn remaining_ms(&self) -> f64 {
        (self.inner.remaining() / 1_000) as f64
    }

    /// Throws unless it is held for certain.
    #[napi(catch_unwind)]
    pub fn assert_held(&self) -> Result<()> {
        self.inner.assert_held().map_err(thrown)
    }

    /// Makes every later fencing token larger.
    #[napi(catch_unwind)]
    pub fn raise_floor(&self, floor: f64) -> Result<()> {
        unsigned("floor", floor).and_then(|floor| self.inner.raise_floor(floor)).map_err(thrown)
    }

    /// Why the last acquisition was not granted.
    #[napi(catch_unwind)]
    pub fn refusal(&self) -> String {
        self.inner.not_acquired().message().to_owned()
    }

    /// Ends an acquisition whose caller is gone. It is still answered, and soon.
    #[napi(catch_unwind)]
    pub fn abandon(&self) {
        self.inner.abandon();
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An environment that ends while it waits: what is held then, the core gives back.
        if !self.inner.is_held() {
            self.inner.abandon();
        }
    }
}

#[napi]
impl Channel {
    /// Acquires, under the number `id`, and waits for at most so long. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn acquire(&mut self, env: Env, id: f64, lock: &Lock, wait_ms: f64) -> Result<()> {
        let make = || lock.inner.acquire(convert::duration(micros("wait", wait_ms)?));
        let acquiring = make().map_err(thrown)?;
        self.expect(env, 1);
        acquiring.submit(id as u64, &self.sink());
        Ok(())
    }

    /// Releases, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn release(&mut self, env: Env, id: f64, lock: &Lock) {
        self.expect(env, 1);
        lock.inner.release().submit(id as u64, &self.sink());
    }

    /// Extends the lease, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn extend(&mut self, env: Env, id: f64, lock: &Lock, ttl_ms: Option<f64>) -> Result<()> {
        let make = || lock.inner.extend(ttl_ms.map(|ms| micros("ttl", ms)).transpose()?);
        let op = make().map_err(thrown)?;
        self.submit(env, vec![(id as u64, op.erased())]);
        Ok(())
    }

    /// Asks who holds a lock, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn inspect(&mut self, env: Env, id: f64, lock: &Lock) {
        self.submit(env, vec![(id as u64, lock.inner.inspect().erased())]);
    }

    /// Takes a lock away from whoever holds it, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn force_release(&mut self, env: Env, id: f64, lock: &Lock) {
        self.submit(env, vec![(id as u64, lock.inner.force_release().erased())]);
    }

    /// Leaves word under the number `id` when the present grant is lost. It holds no environment open.
    #[napi(catch_unwind)]
    pub fn watch(&self, id: f64, lock: &Lock) {
        let mailbox = self.mailbox.clone();
        lock.inner.on_loss(Box::new(move || mailbox.lost(id as u64)));
    }
}
