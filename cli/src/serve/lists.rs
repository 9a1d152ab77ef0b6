//! The lists of the page, and their pages.

use serde::Serialize;
use serde_json::{Value, json};

use super::api::{Asked, DeniedRow, List, LockRow, Page, ROWS, StockRow, WithoutTtlRow};

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
}

impl Lists {
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
