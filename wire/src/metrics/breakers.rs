//! Which servers calls are not sent to for now.
//!
//! What is stored is until when: a process that is killed while it refuses calls leaves nothing that lasts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::stripes::{self, Stripes};
use super::table::{CounterTable, SERVERS, SMALL, table};
use crate::base::clock::boot_micros;

/// Why calls are not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// No connection can be made.
    Unreachable,
    /// It refuses what is asked.
    Refusing,
}

impl Trouble {
    pub(crate) const ALL: [Trouble; 2] = [Trouble::Unreachable, Trouble::Refusing];

    /// The text of its label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Trouble::Unreachable => "unreachable",
            Trouble::Refusing => "refusing",
        }
    }
}

/// No pause is longer: what says so was written before the host was started anew.
const LONGEST: u64 = 2 * 3_600_000_000;
/// Where it is counted how often calls began to be refused.
pub(super) const OPENED: usize = Trouble::ALL.len();

/// What is told of one breaker.
#[derive(Clone, Copy, Default)]
pub(crate) struct BreakerGauge(Option<(&'static Stripes<SMALL>, usize)>);

/// What is told of a breaker of this server.
pub(crate) fn breaker_gauge(server: &str, trouble: Trouble) -> BreakerGauge {
    table().map_or(BreakerGauge(None), |table| BreakerGauge::in_table(table, server, trouble))
}

impl BreakerGauge {
    pub(super) fn in_table(table: CounterTable, server: &str, trouble: Trouble) -> BreakerGauge {
        BreakerGauge(Some((table.series(&SERVERS, server.as_bytes()), trouble as usize)))
    }

    /// Calls begin to be refused.
    pub(crate) fn opened(&self) {
        self.0.iter().for_each(|(stripes, trouble)| stripes::add(stripes, OPENED + trouble, 1));
    }

    /// Calls are refused for so long from now on.
    pub(crate) fn refuse(&self, pause: Duration) {
        self.store(|| boot_micros() + pause.as_micros() as u64);
    }

    /// Calls are let through.
    pub(crate) fn admit(&self) {
        self.store(|| 0);
    }

    fn store(&self, until: impl Fn() -> u64) {
        self.0.iter().for_each(|(stripes, trouble)| until_of(stripes, *trouble).store(until(), Ordering::Relaxed));
    }
}

/// The word that says until when; of all stripes the first has it.
fn until_of(stripes: &Stripes<SMALL>, trouble: usize) -> &AtomicU64 {
    &stripes[0][trouble]
}

/// Whether calls to this server are refused now.
pub(super) fn is_open(stripes: &Stripes<SMALL>, trouble: Trouble) -> bool {
    let until = until_of(stripes, trouble as usize).load(Ordering::Relaxed);
    let now = boot_micros();
    until > now && until - now <= LONGEST
}
