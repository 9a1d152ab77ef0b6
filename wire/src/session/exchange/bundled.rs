//! Calls that travel as one: a server decides many keys in one script call for little more than half of what it takes for a call each.
//!
//! Each stays a call of its own: it has its own answer, deadline and retries, and whatever goes wrong is found out by
//! asking for it alone.

use super::{Exchange, Step};
use crate::base::clock::ServerClock;
use crate::call::around::{Around, Bundle};
use crate::call::breaker::Pass;
use crate::call::resp::Reply;

impl Exchange {
    /// With which others it may travel. It travels alone where anything is out of the ordinary, and in a cluster, where
    /// keys lie in different slots.
    pub(crate) fn bundle(&self) -> Option<Bundle<'_>> {
        let is_usual = !self.alone && !self.with_text && !self.asking && self.pass == Pass::Usual;
        let is_first = self.unknown.is_none() && !self.stands_in() && self.replicas.is_none();
        let around = self.command.around().filter(|_| is_usual && is_first)?;
        let bundle = around.bundle()?;
        self.session.engine().route.cluster().is_none().then_some(bundle)
    }

    /// Writes calls of one kind as one, with the text of their script or without; its time is over with the first of theirs.
    pub(crate) fn encode_together<'a>(
        exchanges: impl Iterator<Item = &'a Exchange> + Clone,
        out: &mut Vec<u8>,
        clock: &ServerClock,
        with_text: bool,
    ) {
        let Some((first, deadline)) = exchanges.clone().next().zip(exchanges.clone().map(Exchange::deadline).min())
        else {
            return;
        };
        let Some(bundle) = first.command.around().and_then(Around::bundle) else { return };
        let keys = exchanges.filter_map(|exchange| exchange.command.key(0));
        first.encode_for(out, clock, bundle.script, with_text, keys, deadline);
    }

    /// Takes what the reply to a bundle says of this call.
    pub(crate) fn on_part(&mut self, part: Reply, clock: &mut ServerClock) -> Step {
        match part {
            // Whatever refused the bundle, or failed for this key: it was not done. Asked alone, the server says why.
            Reply::Nil | Reply::Error(_) => {
                self.alone = true;
                Step::Send
            }
            part => self.on_reply(part, clock),
        }
    }
}

/// What the reply to a bundle says of each of its `count` calls.
pub(crate) fn parts(reply: Reply, count: usize) -> Vec<Reply> {
    match reply {
        Reply::Array(parts) if parts.len() == count && !matches!(parts.first(), Some(Reply::Int(_))) => parts,
        // Refused, or too late, as a whole. Another kind of answer is as odd to each as it is to all.
        whole => vec![whole; count],
    }
}

/// Whether the server does not know the script of a bundle.
pub(crate) fn is_unknown(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with("NOSCRIPT"))
}

/// Whether the script of a bundle was refused for a reason that will not pass, as by a proxy that reads scripts.
pub(crate) fn is_strange(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with("ERR"))
}
