//! Calls whose answer says what to do next: looks, which a load is made of, and locks. If another loads an entry, or holds a lock,
//! the process' thread waits for that one, under the same number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quotalock::driver::{self, Sink};
use quotalock::{Acquiring, Answer, AskedAcquiring, AskedReleasing, Getting, GettingMany, Op, Releasing, Result};

use crate::answers::{Lookout, Mailbox};

/// A load, which a look is a part of. Touched on JavaScript's thread alone.
pub type Shared = Arc<Mutex<driver::Loading>>;

/// What is asked for.
pub enum Look {
    /// One entry.
    One(Getting, Shared),
    /// Several, in one call.
    Several(GettingMany, Shared),
}

/// What is under way.
enum UnderWay {
    /// A look.
    Looks(Look),
    /// Another loads what it wants.
    Waits(Shared),
    /// An acquisition.
    Acquires(AskedAcquiring),
    /// A release.
    Releases(AskedReleasing),
}

/// What an answer comes to.
pub enum Understood {
    /// The caller has this.
    Answer(Result<Answer>),
    /// One more answer comes under the same number.
    Waits,
    /// It was taken back, and so is what comes of it.
    Nothing,
}

/// Those of one environment that are under way, by the numbers of their calls.
pub struct Looks {
    under_way: HashMap<u64, UnderWay>,
    sink: Arc<dyn Sink>,
    mailbox: Arc<dyn Sink>,
}

impl Looks {
    /// Looks whose answers come to this mailbox.
    pub fn new(mailbox: Arc<Mailbox>) -> Looks {
        Looks { under_way: HashMap::new(), sink: Arc::new(Lookout(mailbox.clone())), mailbox }
    }

    /// The calls of looks, whose answers are to come to the [`sink`](Looks::sink).
    pub fn begin(&mut self, looks: Vec<(u64, Look)>) -> Vec<(u64, Op<Answer>)> {
        let mut ops = Vec::with_capacity(looks.len());
        for (id, mut look) in looks {
            ops.push((id, look.ask()));
            self.under_way.insert(id, UnderWay::Looks(look));
        }
        ops
    }

    /// The call that begins an acquisition.
    pub fn acquire(&mut self, id: u64, acquiring: Acquiring) -> Op<Answer> {
        let (op, asked) = acquiring.ask();
        self.under_way.insert(id, UnderWay::Acquires(asked));
        op
    }

    /// The call of a release; none if there is nothing to release.
    pub fn release(&mut self, id: u64, releasing: Releasing) -> Option<Op<Answer>> {
        let (op, asked) = releasing.ask()?;
        self.under_way.insert(id, UnderWay::Releases(asked));
        Some(op)
    }

    /// Where answers to them come.
    pub fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }

    /// Whether one is under way under this number.
    pub fn has(&self, id: u64) -> bool {
        self.under_way.contains_key(&id)
    }

    /// Forgets one; tells whether there was one under this number.
    pub fn forget(&mut self, id: u64) -> bool {
        self.under_way.remove(&id).is_some()
    }

    /// Forgets all: what they were granted is given back.
    pub fn forget_all(&mut self) {
        self.under_way.clear();
    }

    /// Gives an answer to whom it is for. That of a load knows what it is; its caller hears that there is one.
    pub fn understand(&mut self, id: u64, answer: Result<Answer>) -> Understood {
        let Some(under_way) = self.under_way.remove(&id) else { return Understood::Nothing };
        match under_way {
            UnderWay::Looks(Look::One(getting, loading)) => match getting.after(answer) {
                Ok(got) => locked(&loading).on_got(got),
                Err(getting) => {
                    self.under_way.insert(id, UnderWay::Waits(loading));
                    getting.submit(id, &self.sink);
                    return Understood::Waits;
                }
            },
            UnderWay::Looks(Look::Several(looking, loading)) => locked(&loading).on_looked(looking.after(answer)),
            UnderWay::Waits(loading) => locked(&loading).on_got(answer.and_then(Answer::take)),
            UnderWay::Acquires(asked) => {
                return match asked.after(answer) {
                    Ok(held) => Understood::Answer(held.map(Answer::new)),
                    Err(acquiring) => {
                        acquiring.submit(id, &self.mailbox);
                        Understood::Waits
                    }
                };
            }
            UnderWay::Releases(asked) => return Understood::Answer(asked.after(answer).map(Answer::new)),
        }
        Understood::Answer(Ok(Answer::new(true)))
    }
}

impl Look {
    fn ask(&mut self) -> Op<Answer> {
        match self {
            Look::One(getting, _) => getting.ask(),
            Look::Several(looking, _) => looking.ask(),
        }
    }
}

/// Locks a load.
pub fn locked(loading: &Mutex<driver::Loading>) -> MutexGuard<'_, driver::Loading> {
    loading.lock().unwrap_or_else(PoisonError::into_inner)
}
