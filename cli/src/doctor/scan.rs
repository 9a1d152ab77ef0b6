//! Looking at every key of a server, a page at a time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use redis::cmd;

use super::DoctorSettings;
use super::collect::Collector;
use super::interrupt::stopped;
use super::proof::ValueView;
use super::watch::score_of;
use crate::pages::{Pages, Stands};
use crate::server::{Node, Refusal};

/// Of a server with no more keys, each of our values is read; of others one in so many.
const FEW: u64 = 100_000;
const ONE_IN: u64 = 16;
/// However slow it is, it hears Ctrl-C within so long.
const LISTENS_EVERY: Duration = Duration::from_millis(50);

/// What a scan did not see.
#[derive(Default)]
pub struct Unseen {
    /// How many keys were looked at.
    pub seen: AtomicU64,
    /// How many may not be read.
    pub refused: AtomicU64,
    /// Why: commands or keys without a right.
    pub rights: Mutex<BTreeSet<String>>,
}

/// A scan of one server.
pub struct ServerScan<'a, 's> {
    /// What was asked for.
    pub settings: &'a DoctorSettings,
    /// Which of the shards it is.
    pub shard: usize,
    /// What takes the findings.
    pub collector: &'a Mutex<Collector<'s>>,
    /// What tells how far it is.
    pub bar: &'a ProgressBar,
    /// What was not seen.
    pub unseen: &'a Unseen,
}

impl ServerScan<'_, '_> {
    /// Looks at all keys of a server, or at as many as were asked for.
    ///
    /// # Errors
    /// If the server goes away, or does not let us look.
    pub fn run(&self, node: &mut Node) -> Result<(), Refusal> {
        let size: u64 = node.ask(&cmd("DBSIZE")).unwrap_or(u64::MAX);
        let stride = if size <= FEW { 1 } else { ONE_IN };
        let mut pages = Pages::new(&self.settings.prefix, stride, self.settings.rate);
        let (mut cursor, began, mut looked) = (b"0".to_vec(), Instant::now(), 0u64);
        loop {
            let page = pages.at(node, &cursor)?;
            looked += page.keys;
            let total = self.unseen.seen.fetch_add(page.keys, Ordering::Relaxed) + page.keys;
            self.unseen.refused.fetch_add(page.refused, Ordering::Relaxed);
            self.unseen.rights.lock().unwrap_or_else(PoisonError::into_inner).extend(page.lacks);
            self.bar.inc(page.keys);
            let mut collector = self.collector.lock().unwrap_or_else(PoisonError::into_inner);
            for (name, stands) in page.found {
                match stands {
                    Stands::Own(value) => collector.own(&name, &ValueView::Text(value)),
                    Stands::OwnOther(kind) => collector.own(&name, &ValueView::Other(kind, Vec::new())),
                    Stands::Marked(score) => collector.immortal(self.shard, name, ValueView::Marked(score_of(&score))),
                    Stands::Text(value) => collector.immortal(self.shard, name, ValueView::Text(value)),
                    Stands::Other(kind, first) => collector.immortal(self.shard, name, ValueView::Other(kind, first)),
                }
            }
            drop(collector);
            cursor = page.cursor;
            let is_enough = self.settings.max_keys.is_some_and(|most| total >= most);
            if cursor == b"0" || is_enough || stopped() {
                return Ok(());
            }
            let due = Duration::from_secs_f64(looked as f64 / self.settings.rate as f64);
            while began.elapsed() < due && !stopped() {
                thread::sleep(LISTENS_EVERY.min(due.saturating_sub(began.elapsed())));
            }
        }
    }
}
