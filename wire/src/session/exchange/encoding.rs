//! What a call is on the wire.

use std::time::Instant;

use super::Exchange;
use crate::base::clock::ServerClock;
use crate::call::resp;
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
    pub(super) fn encode_for<'a>(
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
}
