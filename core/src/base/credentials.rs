//! Who a connection logs in as: the user, and where the password comes from.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::fork::ForkCell;

/// The most that a file of a password may hold, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// A password. Prints as `***`, whoever prints it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What tells a password when asked, or why it cannot.
type Tell = dyn Fn() -> std::result::Result<String, String> + Send + Sync;

/// Tells the password of a client, for as long as the server takes it: it is called for the first connection, and again
/// when the server refuses what it told. It runs on a thread of its own and may block; its caller waits no longer than the
/// timeout.
#[derive(Clone)]
pub struct PasswordProvider(Arc<Tell>);

// A panic of the function is caught where it is called, and what it leaves half-done is its own.
impl std::panic::UnwindSafe for PasswordProvider {}
impl std::panic::RefUnwindSafe for PasswordProvider {}

impl PasswordProvider {
    /// Wraps a function that tells the password, or in its error why it cannot.
    pub fn new(tell: impl Fn() -> std::result::Result<String, String> + Send + Sync + 'static) -> PasswordProvider {
        PasswordProvider(Arc::new(tell))
    }
}

impl fmt::Debug for PasswordProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordProvider(***)")
    }
}

/// Where a password comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Password {
    /// The URL.
    Fixed(Secret),
    /// A file, or a function, that may tell another one later.
    Asked(Arc<Asked>),
}

/// What is asked for a password, and what it told.
pub(crate) struct Asked {
    source: Source,
    state: ForkCell<Mutex<State>>,
}

#[derive(Clone)]
enum Source {
    File(PathBuf),
    Provider(PasswordProvider),
}

#[derive(Default)]
struct State {
    told: Option<Secret>,
    /// Who waits for it to be told.
    waiting: Vec<SyncSender<Told>>,
}

/// A password, or why there is none.
pub(crate) type Told = std::result::Result<Secret, String>;

/// What who wants a password has to do.
pub(crate) enum Wanted {
    /// It is known.
    Here(Secret),
    /// It comes here; who is told to `ask` does that, the others wait with them.
    Coming { told: Receiver<Told>, ask: bool },
}

impl Password {
    /// One that a file holds.
    pub fn in_file(path: PathBuf) -> Password {
        Password::Asked(Arc::new(Asked { source: Source::File(path), state: ForkCell::new() }))
    }

    /// One that a function tells.
    pub fn told_by(provider: PasswordProvider) -> Password {
        Password::Asked(Arc::new(Asked { source: Source::Provider(provider), state: ForkCell::new() }))
    }

    /// The password as far as it is known now.
    pub fn known(&self) -> Option<Cow<'_, str>> {
        match self {
            Password::Fixed(secret) => Some(secret.expose().into()),
            Password::Asked(asked) => asked.state().told.as_ref().map(|secret| secret.expose().to_owned().into()),
        }
    }

    /// Where it comes from, for a message.
    pub fn origin(&self) -> String {
        match self {
            Password::Fixed(_) => "the url".into(),
            Password::Asked(asked) => asked.to_string(),
        }
    }
}

impl Asked {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The password, if one is known that was not `refused`.
    pub fn want(&self, refused: Option<&Secret>) -> Wanted {
        let mut state = self.state();
        if let Some(told) = state.told.as_ref().filter(|told| Some(*told) != refused) {
            return Wanted::Here(told.clone());
        }
        let (tell, told) = sync_channel(1);
        // Those who gave up meanwhile are told in vain, once.
        state.waiting.push(tell);
        Wanted::Coming { told, ask: state.waiting.len() == 1 }
    }

    /// Asks for it, which may block, and tells those who wait.
    pub fn ask(&self) {
        let told = self.source.ask().and_then(|text| match text.is_empty() {
            true => Err("it is empty".to_owned()),
            false => Ok(Secret(text)),
        });
        self.tell(&told);
    }

    /// Tells those who wait what became of it.
    pub fn tell(&self, told: &Told) {
        let mut state = self.state();
        if let Ok(secret) = told {
            state.told = Some(secret.clone());
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(|tell| drop(tell.try_send(told.clone())));
    }
}

impl Source {
    fn ask(&self) -> std::result::Result<String, String> {
        match self {
            Source::File(path) => read(path),
            // A panic of the function is no reason for others to wait.
            Source::Provider(PasswordProvider(tell)) => {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tell()))
                    .unwrap_or_else(|_| Err("it panicked".to_owned()))
            }
        }
    }
}

/// The text of a file without the line's end that editors put behind it.
fn read(path: &Path) -> std::result::Result<String, String> {
    use std::io::Read;
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    read.map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        _ => e.to_string(),
    })?;
    if text.len() as u64 > MAX_FILE {
        return Err(format!("it is longer than {MAX_FILE} bytes"));
    }
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

impl PartialEq for Asked {
    fn eq(&self, other: &Asked) -> bool {
        match (&self.source, &other.source) {
            (Source::File(one), Source::File(other)) => one == other,
            (Source::Provider(PasswordProvider(one)), Source::Provider(PasswordProvider(other))) => {
                Arc::ptr_eq(one, other)
            }
            _ => false,
        }
    }
}

impl Eq for Asked {}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({self})")
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::File(path) => write!(f, "password_file {}", path.display()),
            Source::Provider(_) => f.write_str("the password function"),
        }
    }
}
