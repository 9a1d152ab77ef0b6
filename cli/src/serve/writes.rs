//! What the page may change: it ends a block, and takes a lock away.

use std::sync::atomic::{AtomicU64, Ordering};

use quotalock::stored::{KeyKind, KeyName};

use super::api::Done;
use super::rows::key_of;
use crate::commands::limit::{KeyArguments, end_block};
use crate::commands::locks::Kind;
use crate::exit::Failure;
use crate::printable::shown;
use crate::raw;
use crate::shared::SharedArguments;
use crate::words::{count, span};

/// What may be changed, and what was.
pub struct Writes {
    is_allowed: bool,
    shared: SharedArguments,
    done: AtomicU64,
}

impl Writes {
    /// Nothing was changed yet.
    pub fn new(is_allowed: bool, shared: &SharedArguments) -> Writes {
        let shared = SharedArguments { url: shared.url.clone(), prefix: shared.prefix.clone(), json: false, ..*shared };
        Writes { is_allowed, shared, done: AtomicU64::new(0) }
    }

    /// Whether anything may be.
    pub fn are_allowed(&self) -> bool {
        self.is_allowed
    }

    /// How much was changed.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the block of a key of a limiter; what was counted stays.
    ///
    /// # Errors
    /// If it is no such key, or its server does not do it.
    pub fn unblock(&self, id: &str) -> Result<Done, Failure> {
        let name = self.name(id, |kind| kind == KeyKind::Limiter, "a limiter")?;
        let limiter = String::from_utf8(name.name).map_err(|_| raw::usage("names of limiters are UTF-8"))?;
        let of = KeyArguments::new(limiter, name.key.unwrap_or_default(), name.scope);
        let left = end_block(&of, &self.shared)?;
        Ok(self.did(left > 0, |changed| match changed {
            true => format!("unblocked: {}, which was blocked for {} more", of.shown(), span(left)),
            false => format!("was not blocked: {}", of.shown()),
        }))
    }

    /// Takes a lock away from whoever holds it, who learns of it as a loss.
    ///
    /// # Errors
    /// If it is no lock, or its server does not do it.
    pub fn release(&self, id: &str) -> Result<Done, Failure> {
        let name = self.name(id, |kind| Kind::of(kind).is_some(), "a lock")?;
        let Some(kind) = Kind::of(name.kind) else { return Err(raw::usage("this is no lock")) };
        let released = kind.handle(&raw::client(&self.shared)?, &name.name)?.force_release().run()?;
        let what = format!("{} {}", kind.word(), shown(&name.name));
        Ok(self.did(released > 0, |changed| match changed {
            true => format!("released: {what}, which {} had", count(released, "holder")),
            false => format!("nobody held {what}"),
        }))
    }

    /// The key of an id, if it is one of ours and of this kind.
    fn name(&self, id: &str, is_kind: impl Fn(KeyKind) -> bool, what: &str) -> Result<KeyName, Failure> {
        let name = key_of(id).and_then(|key| KeyName::parse(&self.shared.prefix, &key));
        let fits = name.filter(|name| is_kind(name.kind) && name.beside.is_empty());
        fits.ok_or_else(|| raw::usage(format!("this is not the id of {what}: take it from a row of /api/state")))
    }

    fn did(&self, changed: bool, said: impl Fn(bool) -> String) -> Done {
        self.done.fetch_add(u64::from(changed), Ordering::Relaxed);
        Done { changed, said: said(changed) }
    }
}
