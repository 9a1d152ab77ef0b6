//! Who a connection logs in as: the user, and where the password comes from.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::base::error::Cause;
use crate::base::fork::ForkCell;

/// The most that a file of a password may hold, in bytes.
const MAX_FILE: u64 = 64 << 10;
/// A function that told the same password again is asked no more often than this.
const PACE: Duration = Duration::from_secs(1);
/// Who gave no answer for so long is asked once more: what it waits for may never come.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// A password. Always printed as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps it.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The password itself.
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
/// Says, from any thread, that there is a question.
type Ring = dyn Fn() + Send + Sync;

/// Tells the password of a client, for as long as the server takes it: it is called for the first connection, and again
/// when the server refuses what it told. It runs on a thread of its own and may block; its caller waits no longer than the
/// timeout.
#[derive(Clone)]
pub struct PasswordProvider(Teller);

#[derive(Clone)]
enum Teller {
    Function(Arc<Tell>),
    /// Another language has the function.
    Elsewhere(Arc<Ring>, PasswordQuestions),
}

// A panic of the function is caught where it is called, and what it leaves half-done is its own.
impl UnwindSafe for PasswordProvider {}
impl RefUnwindSafe for PasswordProvider {}

impl PasswordProvider {
    /// Wraps a function that tells the password, or in its error why it cannot.
    pub fn new(tell: impl Fn() -> std::result::Result<String, String> + Send + Sync + 'static) -> PasswordProvider {
        PasswordProvider(Teller::Function(Arc::new(tell)))
    }

    /// For a function that other threads cannot call, as those of interpreters: `ring` is called, on any thread and perhaps in
    /// vain, when there is a question, which whoever may call the function takes out of the other half. `ring` must not block.
    pub fn elsewhere(ring: impl Fn() + Send + Sync + 'static) -> (PasswordProvider, PasswordQuestions) {
        let questions = PasswordQuestions(Arc::default());
        (PasswordProvider(Teller::Elsewhere(Arc::new(ring), questions.clone())), questions)
    }
}

/// Where the question for a password waits for who can answer it. Empty in a forked child.
#[derive(Clone)]
pub struct PasswordQuestions(Arc<ForkCell<Mutex<Option<PasswordQuestion>>>>);

impl PasswordQuestions {
    /// Takes the question, if there is one: there is no other until it is answered. Never blocks.
    pub fn take_question(&self) -> Option<PasswordQuestion> {
        self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn ask(&self, question: PasswordQuestion) {
        let open = self.0.get_or_init(Mutex::default);
        let old = open.lock().unwrap_or_else(PoisonError::into_inner).replace(question);
        drop(old);
    }
}

impl fmt::Debug for PasswordQuestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordQuestions")
    }
}

/// Somebody asks for the password. Dropped without an answer, it tells them that there is none.
pub struct PasswordQuestion {
    asked: Arc<PasswordQuery>,
    number: u64,
}

impl PasswordQuestion {
    /// Answers it.
    pub fn answer(self, password: String) {
        self.asked.answered(self.number, password);
    }

    /// Answers why there is none: what the function threw, for a message and as it is.
    pub fn fail(self, why: String, cause: Option<Cause>) {
        self.asked.tell(self.number, &Err(PasswordFailure { why, cause }));
    }
}

impl Drop for PasswordQuestion {
    fn drop(&mut self) {
        // To those who were told already this is nothing.
        self.asked.tell(self.number, &Err(PasswordFailure { why: "it ended without an answer".into(), cause: None }));
    }
}

impl fmt::Debug for PasswordQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordQuestion")
    }
}

impl fmt::Debug for PasswordProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordProvider(***)")
    }
}

/// Where a password comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password {
    /// The URL.
    Fixed(Secret),
    /// A file, or a function, that may tell another one later.
    Asked(Arc<PasswordQuery>),
}

/// What is asked for a password, and what it told.
pub struct PasswordQuery {
    source: PasswordSource,
    state: ForkCell<Mutex<PasswordState>>,
}

#[derive(Clone)]
enum PasswordSource {
    File(PathBuf),
    Provider(PasswordProvider),
}

#[derive(Default)]
struct PasswordState {
    told: Option<Secret>,
    /// When it was told once more, though it was refused.
    confirmed: Option<Instant>,
    /// Who waits for it to be told, for as long as they do.
    waiting: Vec<(Weak<()>, SyncSender<PasswordAnswer>)>,
    /// Counts the questions.
    questions: u64,
    /// When the last one was asked, if it is not answered.
    asked_at: Option<Instant>,
}

/// A password, or why there is none.
pub(crate) type PasswordAnswer = std::result::Result<Secret, PasswordFailure>;

/// Why nobody told a password.
#[derive(Clone, Debug)]
pub struct PasswordFailure {
    /// Why there is none.
    pub why: String,
    /// What the function threw.
    pub(crate) cause: Option<Cause>,
}

impl From<String> for PasswordFailure {
    fn from(why: String) -> PasswordFailure {
        PasswordFailure { why, cause: None }
    }
}

/// What who wants a password has to do.
pub(crate) enum Wanted {
    /// It is known.
    Here(Secret),
    /// It comes; who is told to `ask` asks the question of this number, the others wait with them.
    Coming { told: Receiver<PasswordAnswer>, ask: Option<u64>, waits: Arc<()> },
}

impl Password {
    /// One that a file holds.
    pub(crate) fn in_file(path: PathBuf) -> Password {
        Password::Asked(Arc::new(PasswordQuery { source: PasswordSource::File(path), state: ForkCell::new() }))
    }

    /// One that a function tells.
    pub(crate) fn told_by(provider: PasswordProvider) -> Password {
        Password::Asked(Arc::new(PasswordQuery { source: PasswordSource::Provider(provider), state: ForkCell::new() }))
    }

    /// The password as far as it is known now.
    pub(crate) fn known(&self) -> Option<Cow<'_, str>> {
        match self {
            Password::Fixed(secret) => Some(secret.expose().into()),
            Password::Asked(asked) => asked.state().told.as_ref().map(|secret| secret.expose().to_owned().into()),
        }
    }

    /// The password, for who may block until it is told.
    pub fn tell(&self) -> PasswordAnswer {
        let asked = match self {
            Password::Fixed(secret) => return Ok(secret.clone()),
            Password::Asked(asked) => asked,
        };
        match asked.want(None) {
            Wanted::Here(secret) => Ok(secret),
            Wanted::Coming { told, ask, waits: _waits } => {
                if let Some(number) = ask {
                    asked.ask(number);
                }
                told.recv().unwrap_or_else(|_| Err("nobody told it".to_owned().into()))
            }
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

impl PasswordQuery {
    fn state(&self) -> MutexGuard<'_, PasswordState> {
        self.state.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The password, if one is known that was not `refused`, or was told once more a moment ago.
    pub(crate) fn want(&self, refused: Option<&Secret>) -> Wanted {
        let mut state = self.state();
        let is_confirmed = state.confirmed.is_some_and(|then| then.elapsed() < PACE);
        if let Some(told) = state.told.as_ref().filter(|told| is_confirmed || Some(*told) != refused) {
            return Wanted::Here(told.clone());
        }
        let ((tell, told), waits) = (sync_channel(1), Arc::new(()));
        state.waiting.retain(|(waits, _)| waits.strong_count() > 0);
        let is_asked = state.asked_at.is_some_and(|then| then.elapsed() < GIVEN_UP);
        state.waiting.push((Arc::downgrade(&waits), tell));
        if !is_asked {
            state.questions += 1;
            state.asked_at = Some(Instant::now());
        }
        Wanted::Coming { told, ask: (!is_asked).then_some(state.questions), waits }
    }

    /// Whether a question waits for its answer.
    pub(crate) fn is_open(&self) -> bool {
        self.state().asked_at.is_some()
    }

    /// Whether who asks need not block, since another one answers.
    pub(crate) fn is_answered_elsewhere(&self) -> bool {
        self.source.is_elsewhere()
    }

    /// Asks, and tells those who wait; may block unless the answer comes from elsewhere.
    pub(crate) fn ask(self: &Arc<Self>, number: u64) {
        let told = match &self.source {
            PasswordSource::File(path) => read(path),
            // A panic of the function is no reason for others to wait.
            PasswordSource::Provider(PasswordProvider(Teller::Function(tell))) => {
                catch_unwind(AssertUnwindSafe(|| tell())).unwrap_or_else(|_| Err("it panicked".to_owned()))
            }
            PasswordSource::Provider(PasswordProvider(Teller::Elsewhere(_, questions))) => {
                questions.ask(PasswordQuestion { asked: self.clone(), number });
                return;
            }
        };
        match told {
            Ok(text) => self.answered(number, text),
            Err(why) => self.tell(number, &Err(why.into())),
        }
    }

    /// Reminds who answers of the question.
    pub(crate) fn remind(&self) {
        if let PasswordSource::Provider(PasswordProvider(Teller::Elsewhere(ring, _))) = &self.source {
            ring();
        }
    }

    fn answered(&self, number: u64, text: String) {
        let told = if text.is_empty() { Err("it is empty".to_owned().into()) } else { Ok(Secret(text)) };
        self.tell(number, &told);
    }

    /// Tells those who wait what became of their question.
    pub(crate) fn tell(&self, number: u64, told: &PasswordAnswer) {
        let mut state = self.state();
        // It may have been answered already, or asked anew.
        if state.questions != number || state.asked_at.is_none() {
            return;
        }
        if let Ok(secret) = told {
            let is_the_same = state.told.as_ref() == Some(secret) && !matches!(self.source, PasswordSource::File(_));
            state.confirmed = is_the_same.then(Instant::now);
            state.told = Some(secret.clone());
        }
        state.asked_at = None;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(|(_, tell)| drop(tell.try_send(told.clone())));
    }
}

impl PasswordSource {
    fn is_elsewhere(&self) -> bool {
        matches!(self, PasswordSource::Provider(PasswordProvider(Teller::Elsewhere(..))))
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

impl PartialEq for PasswordQuery {
    fn eq(&self, other: &PasswordQuery) -> bool {
        match (&self.source, &other.source) {
            (PasswordSource::File(one), PasswordSource::File(other)) => one == other,
            (PasswordSource::Provider(PasswordProvider(one)), PasswordSource::Provider(PasswordProvider(other))) => {
                match (one, other) {
                    (Teller::Function(one), Teller::Function(other)) => Arc::ptr_eq(one, other),
                    (Teller::Elsewhere(_, one), Teller::Elsewhere(_, other)) => Arc::ptr_eq(&one.0, &other.0),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl Eq for PasswordQuery {}

impl fmt::Debug for PasswordQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({self})")
    }
}

impl fmt::Display for PasswordQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            PasswordSource::File(path) => write!(f, "password_file {}", path.display()),
            PasswordSource::Provider(_) => f.write_str("the password function"),
        }
    }
}

#[cfg(test)]
mod tests;
