//! What follows when a server refuses a call: it is sent again after a pause, with the script's text, or given up.

use std::time::{Duration, Instant};

use super::detour::DetourReason;
use super::{Exchange, FIRST_PAUSE, Step};
use crate::base::error::{Code, Error};
use crate::call::breaker::{Pass, Scope};
use crate::call::refusal::{self, ErrorReply};

/// As often one server is asked again.
const MOST_REPEATS: u32 = 64;
/// The longest pause before a server of a cluster is asked again.
const LONGEST_IN_A_CLUSTER: Duration = Duration::from_millis(32);

impl Exchange {
    pub(super) fn on_refusal(&mut self, text: &str) -> Step {
        // What it means does not hang on what of it may be shown: a password may be a word of it.
        let (endpoint, refusal) = (&self.session.endpoint, refusal::read(text, &*self.command, &self.server()));
        let is_clean = endpoint.scrubbed(text) == text;
        let refusal =
            if is_clean { refusal } else { refusal.map(|error| error.reworded(|said| endpoint.scrubbed(said))) };
        // A primary that has lost its replicas may have lost its Sentinels too, and they may have chosen another one.
        let is_alone = text.contains("NOREPLICAS") && self.node.as_ref().is_some_and(|node| node.server.is_watched());
        self.elsewhere = self.pass != Pass::Glance && (is_alone || matches!(refusal, ErrorReply::Elsewhere(..)));
        let is_down = text.starts_with("CLUSTERDOWN");
        if is_down || matches!(refusal, ErrorReply::Elsewhere(..)) {
            self.session.engine().route.doubt();
        }
        if is_down && self.session.engine().route.cluster().is_some() {
            self.node.iter().for_each(|node| node.says_cut_off(true));
            if let ErrorReply::Later(error, scope) = refusal {
                return self.cut_off(error, DetourReason::Refused(scope, self.pass));
            }
        }
        if matches!(refusal, ErrorReply::Later(..) | ErrorReply::Elsewhere(..))
            && let Some(stands_for) = self.take_stands_for()
        {
            return self.ask_another(stands_for);
        }
        // A slot that is on its way may have the keys that count.
        if text.contains("TRYAGAIN") && self.command.has_spare_keys() && !self.spares_keys {
            self.spares_keys = true;
            return Step::Send;
        }
        match refusal {
            ErrorReply::NoScript if !self.with_text => {
                self.with_text = true;
                Step::Send
            }
            ErrorReply::NoScript => {
                let message = format!("{} does not know a script that was just sent to it", self.server());
                self.conclude(Err(Error::new(Code::Internal, message)), 0)
            }
            ErrorReply::Later(error, scope) | ErrorReply::Elsewhere(error, scope) => self.refused(error, scope),
            ErrorReply::Redirected(redirect) => self.redirected(&redirect),
            ErrorReply::Final(error) => self.give_up(error),
        }
    }

    /// The server does not work for now. Who only looks whether it does is not made to wait for it.
    pub(super) fn refused(&mut self, error: Error, scope: Scope) -> Step {
        let is_patient = self.pass == Pass::Usual || self.command.gives_back();
        let pause = if is_patient { self.pause(FIRST_PAUSE) } else { None };
        if self.pass == Pass::Probe || (self.pass == Pass::Usual && pause.is_none()) {
            self.node.iter().for_each(|node| node.refusal_breaker.refused(scope, &error));
        }
        let Some(pause) = pause else { return self.give_up(error) };
        self.refused = Some(error);
        Step::Sleep(pause)
    }

    /// Ends with a refusal. It says of the last try alone that it did not run: an earlier one may have.
    pub(super) fn give_up(&mut self, error: Error) -> Step {
        let told = match &self.unknown {
            Some(first) => {
                let message = format!("{}; sent again, it was refused: {}", first.message(), error.message());
                Error::new(first.code(), message)
            }
            None => error,
        };
        self.conclude(Err(told), 0)
    }

    /// Sends again what did not run, after a pause that doubles, while there is time; else ends with `error`, which is also what
    /// the caller gets if the time is over before it is sent again.
    pub(super) fn again(&mut self, error: Error, pause: Duration) -> Step {
        let Some(pause) = self.pause(pause) else {
            return self.conclude(Err(self.unknown.clone().unwrap_or(error)), 0);
        };
        if self.unknown.is_none() {
            self.refused = Some(error);
        }
        if pause.is_zero() { Step::Send } else { Step::Sleep(pause) }
    }

    /// How long to pause before it is sent again; none if there is no time for it.
    fn pause(&mut self, first: Duration) -> Option<Duration> {
        let pause = first * 2u32.saturating_pow(self.repeats.min(8));
        self.repeats += 1;
        // In a cluster others may see to it at any moment that it goes on.
        let (pause, most) = match self.session.engine().route.cluster() {
            Some(_) if !first.is_zero() => (pause.min(LONGEST_IN_A_CLUSTER), u32::MAX),
            _ => (pause, MOST_REPEATS),
        };
        (self.repeats <= most && Instant::now() + pause < self.deadline).then_some(pause)
    }
}
