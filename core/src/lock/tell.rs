//! What handles tell the process' thread, from whichever thread they are used on.

use std::sync::Arc;

use super::attempt::Attempt;
use super::held::Held;
use super::spec::Spec;
use crate::answer::Answer;
use crate::desk::{Notice, Request};
use crate::error::Result;
use crate::redis::hub::{self, Sink};

/// Takes answers that are of no interest.
struct Nobody;

impl Sink for Nobody {
    fn complete(&self, _answers: Vec<(u64, Result<Answer>)>) {}
}

/// Has the process' thread renew a grant and tell its loss.
pub(super) fn keep(held: &Arc<Held>) {
    hub::notify(Notice::Keep(held.clone()));
}

/// As [`keep`], if the handle is to be renewed: a process that wants no thread of ours renews nothing.
pub(super) fn keep_if_renewed(held: &Arc<Held>) {
    if held.spec.options.renew {
        keep(held);
    }
}

/// Tells those who wait in this process that something was freed.
pub(super) fn freed(spec: &Arc<Spec>) {
    hub::notify_if_awake(Notice::Freed(spec.clone()));
}

/// Releases in the background what nobody holds any more.
pub(super) fn give_back(held: Arc<Held>) {
    if held.is_foreign() {
        return;
    }
    held.give_up();
    // As any release: whoever waits for it here must not rest on.
    let nobody: Arc<dyn Sink> = Arc::new(Nobody);
    hub::request(Request::Release { held, was_held: false }, 0, &nobody);
}

/// Takes back in the background what an attempt may have left.
pub(super) fn forget(attempt: &Attempt) {
    if let Some(leave) = attempt.leave() {
        leave.send_in_background();
    }
}

/// Has those leave the lines whose callers are gone.
pub(super) fn look_for_abandoned() {
    hub::notify_if_awake(Notice::Abandoned);
}
