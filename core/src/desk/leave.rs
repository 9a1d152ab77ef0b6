//! Taking back what a caller has left on a server and does not want any more: a lease, a place in line.

use std::sync::Arc;
use std::time::Duration;

use super::Notice;
use crate::client::Shared;
use crate::exchange::Exchange;
use crate::operation::Operation;
use crate::store::redis::{hub, pipeline};

/// What taking back may cost a caller, who waits for it.
pub(crate) const CLEAN_UP: Duration = Duration::from_millis(100);

/// A call that takes back; its answer is of no interest. What is left all the same ends by itself.
pub(crate) struct Leave {
    pub shared: Arc<Shared>,
    pub operation: Box<dyn Operation>,
}

impl Leave {
    pub fn new(shared: &Arc<Shared>, operation: impl Operation + 'static) -> Leave {
        Leave { shared: shared.clone(), operation: Box::new(operation) }
    }

    /// Sends it on this thread, and waits a little for the answer.
    pub fn send_here(self) {
        Leave::send_all_here([self]);
    }

    /// As [`send_here`](Leave::send_here), of several calls of one client, which travel together.
    pub fn send_all_here(leaves: impl IntoIterator<Item = Leave>) {
        let exchange = |leave: Leave| Exchange::new(leave.shared, leave.operation, None).within(CLEAN_UP);
        pipeline::run_all(leaves.into_iter().map(exchange).collect(), &mut || false);
    }

    /// Sends it on this thread if that waits for its own calls, else on the process' thread.
    pub fn send(self, here: bool) {
        if here { self.send_here() } else { self.send_in_background() }
    }

    /// As [`send`](Leave::send), of several calls of one client.
    pub fn send_all(leaves: impl IntoIterator<Item = Leave>, here: bool) {
        if here {
            Leave::send_all_here(leaves);
        } else {
            leaves.into_iter().for_each(Leave::send_in_background);
        }
    }

    /// Has the process' thread send it.
    pub fn send_in_background(self) {
        hub::notify(Notice::Leave(self));
    }
}
