//! A call in a cluster: where a server sends it on to, and what a server answers that was asked for once.

use std::sync::Arc;
use std::time::Instant;

use super::{Exchange, FIRST_PAUSE, Step};
use crate::base::error::{Code, Error};
use crate::call::breaker::Pass;
use crate::call::refusal::{self, Redirect};
use crate::call::resp::Reply;
use crate::session::node::Node;

/// So often a call is sent on without a pause.
const HOPS: usize = 4;

impl Exchange {
    /// A server says who else has the slot. It did not run the call.
    pub(super) fn redirected(&mut self, redirect: &Redirect) -> Step {
        let session = self.session.clone();
        let Some(cluster) = session.engine().route.cluster() else {
            return self.conclude(Err(refusal::is_cluster(&self.server())), 0);
        };
        let Some(from) = self.node.clone() else { return self.conclude(Err(self.astray(redirect)), 0) };
        let to = match redirect.once {
            true => cluster.node_at(&redirect.address, &from),
            false => cluster.moved(self.slot, &redirect.address, &from),
        };
        let Some(to) = to else {
            cluster.doubt();
            return self.conclude(Err(self.astray(redirect)), 0);
        };
        if let Some(stands_for) = self.take_stands_for()
            && stands_for.primary.number == to.number
        {
            return self.confirmed(stands_for);
        }
        let astray = self.astray(redirect);
        let detour = self.detour();
        detour.trail.push(from);
        if detour.trail.len() > HOPS {
            detour.round = Some(told_round(&detour.trail, &to).into());
        }
        // After that one hop at a time: what goes round may cost pauses, and no storm.
        let may_go_on = detour.trail.len() <= if detour.round.is_some() { 1 } else { HOPS };
        let round = detour.round.clone();
        let error = round.map_or(astray, |round| {
            let message = format!(
                "{}: {round}; wait until the slots have moved, or compare CLUSTER SLOTS of these servers",
                self.command.describe()
            );
            Error::new(Code::Unavailable, message)
        });
        (self.asking, self.with_text, self.pass) = (redirect.once, false, Pass::Usual);
        let is_away = !to.is_connected() && to.breaker.is_open();
        let admitted = if is_away { to.breaker.admit(session.timeout) } else { Ok(()) };
        self.node = Some(to);
        if let Err(refused) = admitted {
            return self.unreachable(refused.error.unwrap_or(error), refused.retry_after);
        }
        if may_go_on && Instant::now() < self.deadline {
            return Step::Send;
        }
        self.again(error, FIRST_PAUSE)
    }

    /// The error of a call that was sent on and on.
    fn astray(&self, redirect: &Redirect) -> Error {
        let (server, other) = (self.server(), crate::base::error::shown(redirect.address.as_bytes()));
        let cure = if redirect.once {
            format!(
                "their slot moves (ASK): wait; if it goes on, the move was broken off: end it with redis-cli --cluster fix {server}"
            )
        } else {
            "compare CLUSTER SLOTS of both".to_owned()
        };
        let message = format!("{server} sends calls on to \"{other}\", and the call did not get through: {cure}");
        Error::new(Code::Unavailable, message)
    }
}

/// Which servers send a call on to each other.
fn told_round(trail: &[Arc<Node>], to: &Node) -> String {
    let trail: Vec<String> = trail.iter().map(|node| node.server.to_string()).collect();
    format!("redirections go round from {} to {}", trail.join(" to "), to.server)
}

/// What counts of the replies to `ASKING` and to the call: a user without the right to ask is only sent back.
pub(crate) fn of_both(asked: Option<Reply>, reply: Reply) -> Reply {
    match (asked, reply) {
        (Some(Reply::Error(lacks)), Reply::Error(sent)) if lacks.starts_with("NOPERM") && sent.starts_with("MOVED") => {
            Reply::Error(lacks)
        }
        (_, reply) => reply,
    }
}
