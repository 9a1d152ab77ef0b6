//! Answers as JavaScript reads them: numbers in one array, and texts beside it.
//!
//! An answer is `size, number of the call, kind, ...`, `size` being how many numbers it has. By kind:
//!
//! | kind | then |
//! |---|---|
//! | [`DECISION`] | a decision |
//! | [`FLAG`] | 0 or 1 |
//! | [`STORED`] | 0, or 1, the milliseconds left (-1: no TTL) and the number of a text |
//! | [`ERROR`] | the index of its code, the number of a text, and a decision if it has one |
//! | [`COMBINED`] | `allowed, would_deny, binding, retry_after`, the index of the source, and of each decision its size and itself |
//! | [`INSPECTION`] | `token, waiters, healed`, and of each holder the seven numbers that [`Answers::inspection`] writes |
//! | [`COUNT`] | a number |
//! | [`LOST`] | nothing; the number is not that of a call, but the one under which a lock was watched |
//! | [`TAKEN`] to [`LEDGER`] | the number of a text, in which it is packed (sale.rs) |
//! | [`CLAIMED`], [`SEEN`], [`GOT`], [`PARTS`] | what flight.rs writes |
//!
//! A decision is `allowed, limit, remaining, retry_after, reset_after` (milliseconds, -1 for never) of the whole, then
//! its cost, whether it healed, the index of its source in [`Source::ALL`], whether it would deny, and the same five of
//! each rule.

mod flight;
mod mailbox;
mod sale;

use std::sync::Arc;

use quotalock::{
    Answer, Code, CombinedDecision, Decision, Error, Getting, Holder, Inspection, Result, RuleDecision, Seen, Source,
    Ticket, convert, testing::Stored,
};

pub use mailbox::{Lookout, Mailbox};

/// The kind of an answer with a decision.
pub const DECISION: u32 = 0;
/// The kind of an answer that is true or false.
pub const FLAG: u32 = 1;
/// The kind of an answer with a raw value.
pub const STORED: u32 = 2;
/// The kind of an answer that is an error.
pub const ERROR: u32 = 3;
/// The kind of an answer about several keys.
pub const COMBINED: u32 = 4;

/// The kind of an answer about who holds a lock.
pub const INSPECTION: u32 = 5;
/// The kind of an answer that counts.
pub const COUNT: u32 = 6;
/// The kind of word that a lock was lost.
pub const LOST: u32 = 7;
/// The kind of an answer to a take.
pub const TAKEN: u32 = 8;
/// The kind of an answer to a take of several stocks.
pub const TAKEN_ALL: u32 = 9;
/// The kind of an answer with the numbers of a sale.
pub const STOCK_STATUS: u32 = 10;
/// The kind of an answer with reservations of a stock.
pub const STOCK_PAGE: u32 = 11;
/// The kind of an answer with entries of a ledger.
pub const LEDGER: u32 = 12;
/// The kind of an answer to a claim.
pub const CLAIMED: u32 = 13;
/// The kind of an answer to a look that loads nothing.
pub const SEEN: u32 = 14;
/// The kind of an answer to a `get`.
pub const GOT: u32 = 15;
/// The kind of an answer to a `get` of several keys.
pub const PARTS: u32 = 16;

/// Answers that were written down and not yet collected.
#[derive(Default)]
pub struct Answers {
    /// One answer after another.
    pub numbers: Vec<f64>,
    /// What answers refer to.
    pub texts: Vec<Arc<Vec<u8>>>,
    /// The leases that were given; one that nobody takes from here ends.
    pub tickets: Vec<Ticket>,
    /// What is to be waited for; none once it was taken.
    pub waits: Vec<Option<Getting>>,
    /// Answers to looks, each with its call, that are still to be understood.
    pub looked: Vec<(u64, Result<Answer>)>,
    /// How many answers of calls there are, those of looks not counted.
    pub count: usize,
}

impl Answers {
    /// Writes an answer down.
    pub fn push(&mut self, id: u64, answer: &Result<Answer>) {
        self.write(id, |answers| answers.answer(answer));
    }

    /// Writes down what `write` writes, or why it could not.
    fn write(&mut self, id: u64, write: impl FnOnce(&mut Answers) -> Result<()>) {
        let start = self.numbers.len();
        self.numbers.extend([0.0, id as f64]);
        if let Err(error) = write(self) {
            self.numbers.truncate(start + 2);
            self.error(&error);
        }
        self.numbers[start] = (self.numbers.len() - start) as f64;
        self.count += 1;
    }

    /// Whether nothing lies here.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.looked.is_empty()
    }

    /// Writes down that a lock was lost that is watched under this number.
    pub fn lost(&mut self, id: u64) {
        self.numbers.extend([3.0, id as f64, f64::from(LOST)]);
    }

    /// Forgets everything, but keeps the room.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        self.tickets.clear();
        self.waits.clear();
        self.looked.clear();
        self.count = 0;
    }

    /// Writes the kind of an answer and what follows it.
    fn answer(&mut self, answer: &Result<Answer>) -> Result<()> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.error(error);
                return error.decision().map_or(Ok(()), |decision| self.decision(decision));
            }
        };
        if let Some(decision) = answer.get() {
            self.numbers.push(f64::from(DECISION));
            self.decision(decision)?;
        } else if let Some(combined) = answer.get() {
            self.numbers.push(f64::from(COMBINED));
            self.combined(combined)?;
        } else if let Some(yes) = answer.get() {
            self.numbers.extend([f64::from(FLAG), flag(*yes)]);
        } else if let Some(count) = answer.get::<u64>() {
            self.numbers.extend([f64::from(COUNT), *count as f64]);
        } else if let Some(got) = answer.get() {
            self.numbers.push(f64::from(GOT));
            self.got(got);
        } else if let Some(seen) = answer.get::<Option<Seen>>() {
            self.seen(seen.as_ref());
        } else if let Some(claimed) = answer.get() {
            self.claimed(claimed);
        } else if let Some(inspection) = answer.get() {
            self.numbers.push(f64::from(INSPECTION));
            self.inspection(inspection);
        } else if let Some(stored) = answer.get::<Option<Stored>>() {
            self.stored(stored.as_ref());
        } else {
            let unknown = || Error::new(Code::Internal, format!("no value of JavaScript for {answer:?}"));
            let (kind, packed) = sale::packed(answer).ok_or_else(unknown)?;
            let text = self.text(packed);
            self.numbers.extend([f64::from(kind), text]);
        }
        Ok(())
    }

    /// Writes what stands at a Redis key.
    fn stored(&mut self, stored: Option<&Stored>) {
        match stored {
            None => self.numbers.extend([f64::from(STORED), 0.0]),
            Some(Stored { value, ttl_ms }) => {
                let text = self.text(value.clone());
                self.numbers.extend([f64::from(STORED), 1.0, ttl_ms.map_or(-1.0, |ms| ms as f64), text]);
            }
        }
    }

    /// Writes an error without its decision.
    fn error(&mut self, error: &Error) {
        let code = Code::ALL.iter().position(|code| *code == error.code()).unwrap_or(Code::ALL.len() - 1);
        let text = self.text(error.message().as_bytes().to_vec());
        self.numbers.extend([f64::from(ERROR), code as f64, text]);
    }

    fn text(&mut self, bytes: Vec<u8>) -> f64 {
        self.shared(Arc::new(bytes))
    }

    /// Writes down bytes that others may have too; they are copied only if so.
    fn shared(&mut self, bytes: Arc<Vec<u8>>) -> f64 {
        self.texts.push(bytes);
        (self.texts.len() - 1) as f64
    }

    /// Writes of each holder the numbers of two texts (host and label) around its process, then its token, its permits, and
    /// from when until when it holds.
    fn inspection(&mut self, inspection: &Inspection) {
        let Inspection { token, waiters, holders, healed } = inspection;
        self.numbers.extend([*token as f64, *waiters as f64, flag(*healed)]);
        for Holder { host, pid, label, token, permits, since, until, .. } in holders {
            let (host, label) = (self.text(host.clone().into()), self.text(label.clone().into()));
            let (since, until) = (convert::moment(*since) as f64, convert::moment(*until) as f64);
            self.numbers.extend([host, *pid as f64, label, *token as f64, *permits as f64, since, until]);
        }
    }

    fn combined(&mut self, c: &CombinedDecision) -> Result<()> {
        let source = source_number(c.source)?;
        self.numbers.extend([flag(c.allowed), flag(c.would_deny), c.binding as f64, wait(c.retry_after), source]);
        for decision in &c.decisions {
            let start = self.numbers.len();
            self.numbers.push(0.0);
            self.decision(decision)?;
            self.numbers[start] = (self.numbers.len() - start - 1) as f64;
        }
        Ok(())
    }

    fn decision(&mut self, d: &Decision) -> Result<()> {
        let source = source_number(d.source)?;
        self.five(d.allowed, d.limit, d.remaining, d.retry_after, d.reset_after);
        self.numbers.extend([d.cost as f64, flag(d.healed), source, flag(d.would_deny)]);
        for RuleDecision { allowed, limit, remaining, retry_after, reset_after } in &d.rules {
            self.five(*allowed, *limit, *remaining, *retry_after, *reset_after);
        }
        Ok(())
    }

    fn five(&mut self, allowed: bool, limit: u64, remaining: u64, retry_after: Option<u64>, reset_after: u64) {
        let (retry_after, reset_after) = (wait(retry_after), convert::ms(reset_after) as f64);
        self.numbers.extend([flag(allowed), limit as f64, remaining as f64, retry_after, reset_after]);
    }
}

fn flag(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

fn wait(micros: Option<u64>) -> f64 {
    micros.map_or(-1.0, |micros| convert::ms(micros) as f64)
}

fn source_number(source: Source) -> Result<f64> {
    let unknown = || Error::new(Code::Internal, format!("no number for the source {source}"));
    Source::ALL.iter().position(|other| *other == source).map(|at| at as f64).ok_or_else(unknown)
}
