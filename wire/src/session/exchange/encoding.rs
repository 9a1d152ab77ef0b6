//! What a call is on the wire: alone, or as one of several that travel together, since a server decides many keys in one script call
//! for little more than half of what it takes for a call each.
//!
//! Each of these stays a call of its own: it has its own answer, deadline and retries, and whatever goes wrong is found out by
//! asking for it alone.

use std::time::Instant;

use super::{Exchange, Step};
use crate::base::clock::ServerClock;
use crate::call::breaker::Pass;
use crate::call::command::{Around, Bundle};
use crate::call::resp::{self, Reply};
use crate::call::script::Script;

impl Exchange {
    /// Writes the call as the server at the other end of this connection shall get it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, clock: &ServerClock) {
        if self.asking {
            resp::command(out, &[b"ASKING"]);
        }
        let keys = (0..).step_by(1 + usize::from(self.spares_keys)).map_while(|at| self.command.key(at));
        self.encode_for(out, clock, self.command.script(), self.with_text, keys, self.deadline);
    }

    /// Writes a call of this script with these keys and its own arguments.
    fn encode_for<'a>(
        &self,
        out: &mut Vec<u8>,
        clock: &ServerClock,
        script: &Script,
        with_text: bool,
        keys: impl Iterator<Item = &'a [u8]> + Clone,
        deadline: Instant,
    ) {
        let key_count = keys.clone().count();
        resp::begin(out, 5 + key_count + self.command.arg_count());
        if with_text {
            resp::part(out, b"EVAL");
            resp::part(out, script.text().as_bytes());
        } else {
            resp::part(out, b"EVALSHA");
            resp::part(out, script.sha().as_bytes());
        }
        resp::number_part(out, key_count as u64);
        keys.for_each(|key| resp::part(out, key));
        match self.session.test_time.get() {
            Some(now) => {
                resp::number_part(out, now);
                resp::part(out, b"");
            }
            None => {
                resp::part(out, b"");
                if self.command.mutates() && !self.command.gives_back() {
                    resp::number_part(out, clock.at(deadline).max(0) as u64);
                } else {
                    resp::part(out, b"");
                }
            }
        }
        self.command.encode_args(out);
    }

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
