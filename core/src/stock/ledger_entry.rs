//! What a ledger tells of a sale: one entry for each change.

/// What an entry of a ledger is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LedgerKind {
    /// The sale was opened.
    Opened,
    /// Units were added.
    Restocked,
    /// Units were held.
    Held,
    /// What was held is sold.
    Confirmed,
    /// What was held was returned.
    Cancelled,
    /// What was held was returned, since its hold was over.
    Expired,
    /// A hold became longer.
    Extended,
    /// The sale was closed.
    Closed,
}

impl LedgerKind {
    pub(super) const ALL: [(u8, LedgerKind); 8] = [
        (b'o', LedgerKind::Opened),
        (b'r', LedgerKind::Restocked),
        (b'h', LedgerKind::Held),
        (b'c', LedgerKind::Confirmed),
        (b'u', LedgerKind::Cancelled),
        (b'x', LedgerKind::Expired),
        (b'e', LedgerKind::Extended),
        (b'l', LedgerKind::Closed),
    ];

    /// The stable text: `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`.
    pub fn as_str(self) -> &'static str {
        match self {
            LedgerKind::Opened => "opened",
            LedgerKind::Restocked => "restocked",
            LedgerKind::Held => "held",
            LedgerKind::Confirmed => "confirmed",
            LedgerKind::Cancelled => "cancelled",
            LedgerKind::Expired => "expired",
            LedgerKind::Extended => "extended",
            LedgerKind::Closed => "closed",
        }
    }
}

/// One change of a sale, with its numbers after it, by which a replay can check itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// What to read on after.
    pub id: String,
    /// Its number in the sale, from 1 without a gap: one that is missing is no longer kept.
    pub number: u64,
    /// What was done.
    pub kind: LedgerKind,
    /// With which reservation; none for an opening, a restock and a closing, and for units that expired because the
    /// key of their holds was deleted.
    pub reservation: Option<String>,
    /// Of which buyer; none without a reservation.
    pub buyer: Option<Vec<u8>>,
    /// With how many units; 0 for a closing.
    pub quantity: u64,
    /// When, in microseconds since the epoch by the server's clock.
    pub time: u64,
    /// Units available after it.
    pub available: u64,
    /// Units held after it.
    pub held: u64,
    /// Units sold after it.
    pub sold: u64,
    /// The prizes of what was held or confirmed; empty if the sale has none.
    pub prizes: Vec<Vec<u8>>,
}
