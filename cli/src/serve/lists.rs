//! The lists of the page, and their pages.

use serde::Serialize;
use serde_json::{Value, json};

use super::api::{Asked, DeniedRow, KEPT, List, LockRow, Page, ROWS, StockRow, WithoutTtlRow};
use super::seen::{Counts, KnownKeys, Worst};

/// The rows that are kept of each list, in the order of the page.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Who is refused.
    pub denied: Vec<DeniedRow>,
    /// How many there are.
    pub denied_total: u64,
    /// Locks.
    pub locks: Vec<LockRow>,
    /// How many there are.
    pub locks_total: u64,
    /// Sales.
    pub stocks: Vec<StockRow>,
    /// How many there are.
    pub stocks_total: u64,
    /// Keys that may be stuck.
    pub without_ttl: Vec<WithoutTtlRow>,
    /// How many there are.
    pub without_ttl_total: u64,
    /// How many of them are proven to be stuck.
    pub stuck_total: u64,
    /// How many of the others look stuck.
    pub looks_stuck_total: u64,
}

impl Lists {
    /// What is known now.
    pub fn of(seen: &KnownKeys, now_ms: u64) -> Lists {
        let counts = seen.counted.as_ref().unwrap_or(&seen.counting);
        // Whose time has come is refused no longer, seen or not.
        let refused = |row: &&DeniedRow| row.until_ms.is_none_or(|until| until > now_ms);
        let denied: Vec<DeniedRow> = seen.denied.rows().filter(refused).cloned().collect();
        Lists {
            denied_total: total(denied.len(), counts.denied),
            denied,
            locks: rows(&seen.locks),
            locks_total: total(seen.locks.len(), counts.locks),
            stocks: rows(&seen.stocks),
            stocks_total: total(seen.stocks.len(), counts.stocks),
            without_ttl: rows(&seen.without_ttl),
            without_ttl_total: total(seen.without_ttl.len(), listed(counts)),
            stuck_total: stuck(counts),
            looks_stuck_total: looks_stuck(counts),
        }
    }

    /// A page of a list.
    pub fn page(&self, asked: &Asked) -> Value {
        match asked.list {
            List::Denied => page(&self.denied, self.denied_total, asked.from),
            List::Locks => page(&self.locks, self.locks_total, asked.from),
            List::Stocks => page(&self.stocks, self.stocks_total, asked.from),
            List::WithoutTtl => page(&self.without_ttl, self.without_ttl_total, asked.from),
        }
    }
}

fn page<Row: Clone + Serialize>(rows: &[Row], total: u64, from: usize) -> Value {
    let from = from.min(rows.len());
    let shown = &rows[from..rows.len().min(from + ROWS)];
    let more = from + shown.len() < rows.len();
    json!(Page { rows: shown.to_vec(), from, total, more })
}

fn rows<Row: Clone>(worst: &Worst<Row>) -> Vec<Row> {
    worst.rows().cloned().collect()
}

/// How many there are: of few all are known, of many a round has counted them.
fn total(known: usize, counted: u64) -> u64 {
    if known < KEPT { known as u64 } else { counted.max(known as u64) }
}

/// How many keys without a TTL are listed: those that are stuck, look stuck or may be.
fn listed(counts: &Counts) -> u64 {
    stuck(counts) + looks_stuck(counts) + counts.may_be_stuck
}

/// How many keys are proven to be stuck.
fn stuck(counts: &Counts) -> u64 {
    counts.stuck.values().sum()
}

/// How many keys look stuck.
fn looks_stuck(counts: &Counts) -> u64 {
    counts.looks_stuck.values().sum()
}
