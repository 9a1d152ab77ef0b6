//! The clients of this process. They outlive the request that made them, and with them their connections: making a
//! `Client` and its limiters anew in each request costs about a microsecond.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use quotalock::{Client, Code, Error, Limiter, LimiterOptions, Policy, Result};

use crate::exception::Outcome;
use crate::settings::Settings;

/// The most clients kept; the one that was made first makes way for a new one.
const CLIENTS: usize = 64;
/// The most limiters kept per client; when they are more, all are forgotten.
const LIMITERS: usize = 1_024;

/// A limiter with the text of its policy.
#[derive(Clone)]
pub struct Known {
    pub limiter: Limiter,
    pub policy: Rc<str>,
}

/// A client that all PHP objects with the same settings share.
pub struct Shared {
    pub client: Client,
    pub prefix: String,
    pub server: String,
    settings: [String; 4],
    request_memory_ms: i64,
    limiters: RefCell<HashMap<Vec<u8>, Known>>,
}

thread_local! {
    // Of the thread and not of the process, so that PHP's threaded builds need no lock that a fork could leave locked.
    // A forked child inherits the clients, which know by themselves that their connections belong to the parent.
    static ALL: RefCell<Vec<Rc<Shared>>> = const { RefCell::new(Vec::new()) };
    static NAME: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The client of these settings, made if there is none.
///
/// # Errors
/// `invalid_argument` for settings that cannot be.
pub fn client(settings: &Settings) -> Result<Rc<Shared>> {
    let asked = [&settings.url.0, &settings.prefix.0, &settings.timeout_ms.0, &settings.on_error.0];
    let same = |shared: &&Rc<Shared>| {
        shared.request_memory_ms == settings.request_memory_ms
            && shared.settings.iter().zip(asked).all(|(a, b)| a == &**b)
    };
    if let Some(found) = ALL.with_borrow(|all| all.iter().find(same).cloned()) {
        return Ok(found);
    }
    let client = Client::new(settings.options()?)?;
    let shared = Rc::new(Shared {
        server: client.server(),
        client,
        prefix: settings.prefix.0.clone().into_owned(),
        settings: asked.map(|text| text.clone().into_owned()),
        request_memory_ms: settings.request_memory_ms,
        limiters: RefCell::default(),
    });
    ALL.with_borrow_mut(|all| {
        if all.len() >= CLIENTS {
            all.remove(0);
        }
        all.push(shared.clone());
    });
    Ok(shared)
}

impl Shared {
    /// The limiter of this name with the policy that `text` spells, made by `policy` if it is not known.
    ///
    /// # Errors
    /// As `policy`; `invalid_argument` for a bad name.
    pub fn limiter(&self, name: &str, text: Option<&[u8]>, policy: impl FnOnce() -> Outcome<Policy>) -> Outcome<Known> {
        self.limiter_with(name, text, None, true, policy)
    }

    /// As [`limiter`](Shared::limiter), with a scope, or not enforced.
    ///
    /// # Errors
    /// As [`limiter`](Shared::limiter); `invalid_argument` for a bad scope.
    pub fn limiter_with(
        &self,
        name: &str,
        text: Option<&[u8]>,
        scope: Option<&[u8]>,
        enforce: bool,
        policy: impl FnOnce() -> Outcome<Policy>,
    ) -> Outcome<Known> {
        let options = || LimiterOptions { scope: scope.map(<[u8]>::to_vec), enforce };
        let Some(text) = text else { return self.make(name, policy()?, options()) };
        NAME.with_borrow_mut(|known_as| {
            known_as.clear();
            known_as.extend_from_slice(&[u8::from(enforce), u8::from(scope.is_some())]);
            // With their lengths in front, no name, scope and text look like others.
            for part in [name.as_bytes(), scope.unwrap_or_default()] {
                known_as.extend_from_slice(&part.len().to_ne_bytes());
                known_as.extend_from_slice(part);
            }
            known_as.extend_from_slice(text);
            if let Some(known) = self.limiters.borrow().get(known_as.as_slice()) {
                return Ok(known.clone());
            }
            let made = self.make(name, policy()?, options())?;
            let mut limiters = self.limiters.borrow_mut();
            if limiters.len() >= LIMITERS {
                limiters.clear();
            }
            limiters.insert(known_as.clone(), made.clone());
            Ok(made)
        })
    }

    fn make(&self, name: &str, policy: Policy, options: LimiterOptions) -> Outcome<Known> {
        let text = policy.to_string().into();
        Ok(Known { limiter: self.client.limiter_with(name, policy, options)?, policy: text })
    }
}

/// What one PHP `Client` and its limiters hold of a shared client, until it is closed.
pub struct Handle {
    shared: RefCell<Option<Rc<Shared>>>,
    open: Cell<bool>,
}

impl Handle {
    /// An open handle.
    pub fn new(shared: Rc<Shared>) -> Rc<Handle> {
        Rc::new(Handle { shared: RefCell::new(Some(shared)), open: Cell::new(true) })
    }

    /// Lets calls pass until the handle is closed.
    ///
    /// # Errors
    /// `closed` from then on.
    pub fn check(&self) -> Result<()> {
        if self.open.get() { Ok(()) } else { Err(closed()) }
    }

    /// The shared client.
    ///
    /// # Errors
    /// `closed` if this handle was.
    pub fn shared(&self) -> Result<Rc<Shared>> {
        self.shared.borrow().clone().ok_or_else(closed)
    }

    /// Closes this handle; the connections too, unless another open handle shares them. Twice does nothing.
    pub fn close(&self) {
        self.open.set(false);
        let Some(shared) = self.shared.take() else { return };
        ALL.with_borrow_mut(|all| {
            let kept = all.iter().position(|known| Rc::ptr_eq(known, &shared));
            // Ours, and the registry's if it still has it.
            if Rc::strong_count(&shared) == 1 + usize::from(kept.is_some()) {
                kept.map(|at| all.remove(at));
                shared.client.close();
            }
        });
    }
}

fn closed() -> Error {
    Error::new(Code::Closed, "the client was closed: make a new one, or close it later")
}
