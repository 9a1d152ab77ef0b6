//! The clients of this process. They outlive the request that made them, and with them their connections: making a
//! `Client` and its limiters anew in each request costs about a microsecond.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ext_php_rs::types::Zval;
use quotalock::driver::PasswordQuestions;
use quotalock::{Client, Code, Error, LimiterCache, Options, PasswordProvider, Result};

use crate::hook::Hook;
use crate::password::Teller;
use crate::settings::Settings;

/// The most clients kept; the one that was made first makes way for a new one.
const CLIENTS: usize = 64;

/// A client that all PHP objects with the same settings share.
pub struct Shared {
    pub limiters: LimiterCache,
    pub prefix: String,
    pub server: String,
    settings: [String; 6],
    request_memory_ms: i64,
    /// For the password, if functions tell it: which are of a request, and not of the process.
    questions: Option<PasswordQuestions>,
}

impl Shared {
    /// The client of the core.
    pub fn core(&self) -> &Client {
        self.limiters.client()
    }
}

thread_local! {
    // Of the thread and not of the process, so that PHP's threaded builds need no lock that a fork could leave locked.
    // A forked child inherits the clients, which know by themselves that their connections belong to the parent.
    static ALL: RefCell<Vec<Rc<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// The client of these settings, made if there is none; `told` says whether functions tell its password.
///
/// # Errors
/// `invalid_argument` for settings that cannot be.
pub fn client(settings: &Settings, told: bool) -> Result<Rc<Shared>> {
    let Settings { url, prefix, timeout_ms, on_error, deny_cache_max_ms, report, .. } = settings;
    let asked = [url, prefix, timeout_ms, on_error, deny_cache_max_ms, report].map(|(text, _)| text);
    let same = |shared: &&Rc<Shared>| {
        shared.request_memory_ms == settings.request_memory_ms
            && shared.questions.is_some() == told
            && shared.settings.iter().zip(asked).all(|(a, b)| a == &**b)
    };
    if let Some(found) = ALL.with_borrow(|all| all.iter().find(same).cloned()) {
        return Ok(found);
    }
    // Whoever can answer looks for questions by itself.
    let (password, questions) = told.then(|| PasswordProvider::elsewhere(|| ())).unzip();
    let client = Client::new(Options { password, ..settings.options()? })?;
    let shared = Rc::new(Shared {
        server: client.server(),
        limiters: LimiterCache::new(client),
        prefix: settings.prefix.0.clone().into_owned(),
        settings: asked.map(|text| text.clone().into_owned()),
        request_memory_ms: settings.request_memory_ms,
        questions,
    });
    ALL.with_borrow_mut(|all| {
        if all.len() >= CLIENTS {
            all.remove(0);
        }
        all.push(shared.clone());
    });
    Ok(shared)
}

/// What one PHP `Client` and its limiters hold of a shared client, until it is closed.
pub struct Handle {
    shared: RefCell<Option<Rc<Shared>>>,
    open: Cell<bool>,
    /// Alive with it.
    _password: Option<Rc<Teller>>,
    on_decision: Option<Rc<Hook>>,
    on_lost: Option<Rc<Hook>>,
}

/// What a lock holds of the clients that made it: of one, or over several servers of each.
pub type Handles = Rc<[Rc<Handle>]>;

/// As [`Handle::check`], of all.
///
/// # Errors
/// As there.
pub fn check(handles: &Handles) -> Result<()> {
    handles.iter().try_for_each(|handle| handle.check())
}

impl Handle {
    /// An open handle; `password` tells that of the client, if that is a function's to tell. The last are `onDecision` and `onLost`.
    pub fn new(
        shared: Rc<Shared>,
        password: Option<&Zval>,
        [on_decision, on_lost]: [Option<Rc<Hook>>; 2],
    ) -> Rc<Handle> {
        let password = password.zip(shared.questions.as_ref()).map(|(told, questions)| Teller::new(told, questions));
        let (shared, open) = (RefCell::new(Some(shared)), Cell::new(true));
        Rc::new(Handle { shared, open, _password: password, on_decision, on_lost })
    }

    /// What is told of decisions.
    #[inline]
    pub fn on_decision(&self) -> Option<&Hook> {
        self.on_decision.as_deref()
    }

    /// What is told of locks that are lost.
    pub fn on_lost(&self) -> Option<&Hook> {
        self.on_lost.as_deref()
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
                shared.core().close();
            }
        });
    }
}

fn closed() -> Error {
    Error::new(Code::Closed, "the client was closed: make a new one, or close it later")
}
