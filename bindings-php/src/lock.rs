//! `Quotalock\Lock`.

use std::rc::Rc;
use std::time::Duration;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::prelude::*;
use ext_php_rs::types::{ZendClassObject, Zval};
use ext_php_rs::zend::bailout;
use quotalock::{Inspection, LockState, convert};

use crate::argument::{Function, Int, Maybe, Text};
use crate::call::{self, GRACE};
use crate::callback::{self, Ended};
use crate::class;
use crate::exception::{Outcome, Problem};
use crate::hook::Hook;
use crate::property::{self, Bytes, Live, Property, Type};
use crate::record::{Shown, list};
use crate::registry::{self, Handle, Handles};
use crate::request_locks;
use crate::unkept;

/// The properties of the class. Those from `token` on are asked for by each reading, by getters.
pub const PROPERTIES: &[Property] = &[
    ("names", Type::Array),
    ("redisKeys", Type::Array),
    ("ttlMs", Type::Int),
    ("token", Type::MaybeInt),
    ("state", Type::Text),
    ("held", Type::Bool),
    ("remainingMs", Type::Int),
];

/// A handle for a lock; it works for as long as the clients that made it are open.
#[php_class]
#[php(name = "Quotalock\\Lock")]
pub struct Lock {
    lock: quotalock::Lock,
    handles: Handles,
    /// How long `acquire` waits if it is not told.
    wait: Duration,
    /// Its number among those that are held.
    number: u64,
}

impl Lock {
    /// The PHP object of a lock.
    pub fn object(lock: quotalock::Lock, wait: Duration, handles: Handles) -> ZBox<ZendClassObject<Lock>> {
        let properties = [
            list(lock.names(), |name| property::text(name)),
            list(lock.redis_keys(), |key| property::text(key)),
            property::milliseconds(lock.ttl()),
        ];
        let mut object = ZendClassObject::new(Lock { lock, handles, wait, number: request_locks::number() });
        property::fill(&mut object.std, 0, properties);
        object
    }

    /// Takes a lease over, and makes the PHP object of its lock.
    pub fn adopt(
        text: Text,
        name: Maybe<Text>,
        ttl: Maybe<Int>,
        handle: &Rc<Handle>,
    ) -> Outcome<ZBox<ZendClassObject<Lock>>> {
        let ttl = ttl.0.map(|ttl| ttl.micros(3, "ttl")).transpose()?.map(convert::duration);
        let name = name.0.as_ref().map(|name| name.bytes(2)).transpose()?;
        let (text, shared) = (text.utf8(1, "text")?, handle.shared()?);
        // Not renewed: there is no thread of ours in a process of PHP.
        let (lock, adopting) = shared.core().adopt_named(&text, name.as_deref(), false, ttl)?;
        let undo = |_| request_locks::give_back(&lock);
        let adopted = call::attempt(Duration::ZERO, |asked| adopting.run_interruptibly(asked), undo);
        if let Err(stop) = adopted {
            drop(lock);
            return Err(stop.follow());
        }
        let object = Lock::object(lock, Duration::ZERO, Rc::new([handle.clone()]));
        request_locks::keep(object.number, &object.lock, &object.handles);
        if unkept::is_returned() {
            object.give_back();
            return unkept::warn(object.lock.unkept(), object);
        }
        Ok(object)
    }

    /// What is told of losses.
    fn on_lost(&self) -> Option<&Hook> {
        self.handles.first().and_then(|handle| handle.on_lost())
    }

    /// Tells of a loss that is news. As of [`call::Stop::follow`].
    fn notice(&self) -> Outcome<()> {
        match self.on_lost() {
            Some(hook) if self.lock.take_loss() => hook.lost(class::this()),
            _ => Ok(()),
        }
    }

    /// Acquires it, as `acquire`.
    fn grant(&self, wait: Maybe<Int>) -> Outcome<bool> {
        self.notice()?;
        let wait = wait.0.map(|wait| wait.micros(1, "wait")).transpose()?;
        registry::check(&self.handles)?;
        let acquiring = self.lock.acquire(wait.map_or(self.wait, convert::duration))?;
        let undo = |_| request_locks::give_back(&self.lock);
        let granted = call::interruptibly(Duration::ZERO, |asked| acquiring.run_interruptibly(asked), undo)?;
        if granted {
            request_locks::keep(self.number, &self.lock, &self.handles);
        }
        Ok(granted)
    }

    /// Releases it when nobody waits for an answer.
    fn give_back(&self) {
        request_locks::forget(self.number);
        request_locks::give_back(&self.lock);
    }

    /// Releases it after its function has returned.
    ///
    /// # Errors
    /// `lost` if it was lost meanwhile.
    fn conclude(&self) -> Outcome<()> {
        self.notice()?;
        let state = self.lock.state();
        if state == LockState::Lost {
            let lost = self.lock.assert_held();
            self.give_back();
            return Ok(lost?);
        }
        // The function may have released it by itself.
        if self.release()? || state == LockState::Released { Ok(()) } else { Ok(self.lock.assert_held()?) }
    }
}

#[php_impl]
impl Lock {
    /// Acquires it, and waits for at most `waitMs`; false if it was not granted.
    pub fn acquire(&self, waitMs: Maybe<Int>) -> Outcome<bool> {
        let granted = self.grant(waitMs)?;
        if granted && unkept::is_this() {
            self.give_back();
            return unkept::warn(self.lock.unkept(), granted);
        }
        Ok(granted)
    }

    /// Releases it; false if it was not held any more.
    pub fn release(&self) -> Outcome<bool> {
        request_locks::forget(self.number);
        let hook = self.on_lost();
        let (was_lost, was_held) = hook.map_or((false, false), |_| (self.lock.take_loss(), self.lock.is_held()));
        let releasing = self.lock.release();
        let released = call::interruptibly(GRACE, |asked| releasing.run_interruptibly(asked), drop)?;
        // It was gone, and perhaps only the release has found it.
        match hook.filter(|_| was_lost || was_held && !released) {
            Some(hook) => hook.lost(class::this()).map(|()| released),
            None => Ok(released),
        }
    }

    /// Has it last for at least `ttlMs` from now; false if it was lost.
    pub fn extend(&self, ttlMs: Maybe<Int>) -> Outcome<bool> {
        let ttl = ttlMs.0.map(|ttl| ttl.micros(1, "ttl")).transpose()?;
        registry::check(&self.handles)?;
        let extended = call::run(self.lock.extend(ttl)?)?;
        self.notice().map(|()| extended)
    }

    /// Writes the lease down as a text, by which another process adopts it, and ends this handle. Does no I/O.
    pub fn handover(&self) -> Outcome<Bytes> {
        self.notice()?;
        let text = self.lock.handover()?;
        request_locks::forget(self.number);
        Ok(Bytes(text.into_bytes()))
    }

    /// Throws unless it is held for certain. Does no I/O.
    pub fn assert_held(&self) -> Outcome<()> {
        self.notice()?;
        Ok(self.lock.assert_held()?)
    }

    /// Makes every later token larger than this.
    pub fn raise_floor(&self, floor: Int) -> Outcome<()> {
        Ok(self.lock.raise_floor(floor.unsigned(1, "floor")?)?)
    }

    /// Tells who holds it.
    pub fn inspect(&self) -> Outcome<Shown<Inspection>> {
        registry::check(&self.handles)?;
        call::run(self.lock.inspect()).map(Shown)
    }

    /// Takes it from all holders; returns how many there were.
    pub fn force_release(&self) -> Outcome<i64> {
        registry::check(&self.handles)?;
        // A table has at most 1,024 holders.
        call::run(self.lock.force_release()).map(|count: u64| count as i64)
    }

    /// Calls the function while it is held, and releases it however that ends.
    pub fn run(&self, function: Function, waitMs: Maybe<Int>) -> Outcome<Zval> {
        let function = function.get(1)?;
        if !self.grant(waitMs)? {
            return Err(self.lock.not_acquired().into());
        }
        let ended = callback::call(function, &[class::this()]);
        match ended {
            Ended::Returned(value) => self.conclude().map(|()| value),
            Ended::Threw => {
                request_locks::forget(self.number);
                let releasing = self.lock.release();
                // What the function threw says more than an error of the release.
                let _ = call::undisturbed(|asked| releasing.run_interruptibly(asked));
                Err(Problem::Thrown)
            }
            Ended::Jumped => {
                self.give_back();
                // SAFETY: as in `call::interruptibly`.
                unsafe { bailout() }
            }
        }
    }

    /// The fencing token of the grant.
    #[php(getter)]
    pub fn get_token(&self) -> Live {
        Live(self.lock.token().map_or_else(Zval::null, property::int))
    }

    /// As how sure the handle is.
    #[php(getter)]
    pub fn get_state(&self) -> Live {
        Live(property::text(self.lock.state().as_str()))
    }

    /// Whether it is held for certain now.
    #[php(getter)]
    pub fn get_held(&self) -> Live {
        Live(property::bool(self.lock.is_held()))
    }

    /// For how long it is held for certain: rounded down, since in what is left of a millisecond it may end.
    #[php(getter)]
    pub fn get_remaining_ms(&self) -> Live {
        Live(property::int(self.lock.remaining() / 1_000))
    }

    /// Refuses.
    #[php(setter)]
    pub fn set_token(&mut self, _value: Live) {
        property::refuse("Quotalock\\Lock::$token");
    }

    /// Refuses.
    #[php(setter)]
    pub fn set_state(&mut self, _value: Live) {
        property::refuse("Quotalock\\Lock::$state");
    }

    /// Refuses.
    #[php(setter)]
    pub fn set_held(&mut self, _value: Live) {
        property::refuse("Quotalock\\Lock::$held");
    }

    /// Refuses.
    #[php(setter)]
    pub fn set_remaining_ms(&mut self, _value: Live) {
        property::refuse("Quotalock\\Lock::$remainingMs");
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.give_back();
    }
}
