//! Handles of locks, and their calls. Those wait for no batch: what takes or frees a lock is on its way at once.

use napi::Env;
use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::convert;

use crate::channel::Channel;
use crate::client::Client;
use crate::error::{Result, thrown};

/// A handle for a lock of any kind.
#[napi]
pub struct Lock {
    pub(crate) inner: quotalock::Lock,
}

#[napi]
impl Lock {
    /// The Redis keys, one for each name.
    #[napi(getter, catch_unwind)]
    pub fn redis_keys(&self) -> Vec<Buffer> {
        self.inner.redis_keys().iter().map(|key| key.clone().into()).collect()
    }

    /// The names.
    #[napi(getter, catch_unwind)]
    pub fn names(&self) -> Vec<Buffer> {
        self.inner.names().iter().map(|name| name.clone().into()).collect()
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

    /// Writes the lease down as a text, and ends this handle.
    #[napi(catch_unwind)]
    pub fn handover(&self) -> Result<String> {
        self.inner.handover().map_err(thrown)
    }

    /// Throws unless it is held for certain.
    #[napi(catch_unwind)]
    pub fn assert_held(&self) -> Result<()> {
        self.inner.assert_held().map_err(thrown)
    }

    /// Makes every later fencing token larger.
    #[napi(catch_unwind)]
    pub fn raise_floor(&self, floor: f64) -> Result<()> {
        convert::unsigned_float("floor", floor).and_then(|floor| self.inner.raise_floor(floor)).map_err(thrown)
    }

    /// Why the last acquisition was not granted.
    #[napi(catch_unwind)]
    pub fn refusal(&self) -> String {
        self.inner.not_acquired().message().to_owned()
    }

    /// Releases what no handle keeps, and says what to warn of; nothing if there was nothing to release.
    #[napi(catch_unwind)]
    pub fn let_go(&self) -> Option<String> {
        self.inner.let_go()
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
        let make = || lock.inner.acquire(convert::duration(convert::micros_from_float_ms("wait", wait_ms)?));
        let acquiring = make().map_err(thrown)?;
        self.submit_now(env, id, acquiring.erased());
        Ok(())
    }

    /// Releases, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn release(&mut self, env: Env, id: f64, lock: &Lock) {
        self.submit_now(env, id, lock.inner.release().erased());
    }

    /// Extends the lease, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn extend(&mut self, env: Env, id: f64, lock: &Lock, ttl_ms: Option<f64>) -> Result<()> {
        let make = || lock.inner.extend(ttl_ms.map(|ms| convert::micros_from_float_ms("ttl", ms)).transpose()?);
        let op = make().map_err(thrown)?;
        self.submit_now(env, id, op.erased());
        Ok(())
    }

    /// Takes a lease over, under the number `id`, and returns its handle. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn adopt(
        &mut self,
        env: Env,
        id: f64,
        client: &Client,
        text: String,
        renew: bool,
        name: Option<BufferSlice<'_>>,
    ) -> Result<Lock> {
        let (inner, adopting) = client.inner.adopt_named(&text, name.as_deref(), renew, None).map_err(thrown)?;
        self.submit_now(env, id, adopting.erased());
        Ok(Lock { inner })
    }

    /// Asks who holds a lock, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn inspect(&mut self, env: Env, id: f64, lock: &Lock) {
        self.submit_now(env, id, lock.inner.inspect().erased());
    }

    /// Takes a lock away from its holders, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn force_release(&mut self, env: Env, id: f64, lock: &Lock) {
        self.submit_now(env, id, lock.inner.force_release().erased());
    }

    /// Leaves word under the number `id` when the present grant is lost. It holds no environment open.
    #[napi(catch_unwind)]
    pub fn watch(&self, id: f64, lock: &Lock) {
        let mailbox = self.mailbox.clone();
        lock.inner.on_loss(Box::new(move || mailbox.lost(id as u64)));
    }
}
