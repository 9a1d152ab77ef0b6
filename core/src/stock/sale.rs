//! A sale in this process: twin of what `{load,save,prizes,release}.lua` do with its keys.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

use super::id::{Id, StockHold};
use super::ledger_entry::{LedgerEntry, LedgerKind};
use super::options::MAX_PRIZES_MOVED;
use super::{SaleTarget, id};
use wire::base::error::{Result, wrong_type};
use wire::call::lua::EXACT;
use wire::call::space::Space;

/// How many holds of a sale a call ends.
pub(super) const STEP: usize = 16;
/// About how many holds a call ends at most, of all its sales together.
pub(super) const HOLDS: usize = 256;

/// How many holds of each of so many sales end at once.
pub(super) fn step_of(sales: usize) -> usize {
    (HOLDS / sales.max(1)).clamp(2, STEP)
}
/// How often a call looks for more that is over, for all its stocks together.
pub(super) const ROUNDS: u64 = 16;
/// No time: later than all others.
pub(super) const NEVER: u64 = EXACT;

/// How many entries this process' ledgers have had. They share it, so that who reads on in the ledger of a new sale, after an
/// entry of the old one's, misses nothing.
static ENTRIES: AtomicU64 = AtomicU64::new(0);

/// How many prizes a call may still return to stock, of all its sales together. Those of the last hold may be more.
pub(super) struct Budget {
    prizes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { prizes: MAX_PRIZES_MOVED }
    }
}

/// With what a sale was opened; equal if it is the same sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub quantity: u64,
    pub per_buyer: u64,
    pub ends: u64,
    /// What tells one list of prizes from another.
    pub prizes: [u8; 20],
}

/// All that is known of a sale. Its time counts from its opening and never goes back.
pub(super) struct Sale {
    pub opened: Opened,
    /// The call that opened it.
    pub opener: Id,
    /// The call that closed it.
    pub closer: Option<Id>,
    /// Whether it has ended whatever the clock does.
    pub closed: bool,
    pub prized: bool,
    /// 0 is none, as in `ends`.
    pub per_buyer: u64,
    /// By the server's clock.
    pub ends: u64,
    retention: u64,
    cap: u64,
    pub available: u64,
    pub held: u64,
    pub sold: u64,
    entries: u64,
    /// The time when it was last saved, and what made it of the server's.
    saved: (u64, i64),
    /// The time of this call, likewise.
    time: (u64, i64),
    /// The latest time that this call is about: now, or when a hold ends.
    latest: u64,
    /// Until when it is kept at least.
    kept: u64,
    /// Whether it is to be kept for longer.
    renew: bool,
    /// No hold ends before.
    due: u64,
    /// What buyers hold and have bought.
    buyers: HashMap<Vec<u8>, u64>,
    /// When each hold ends, by time.
    ends_of_holds: BTreeSet<(u64, Vec<u8>)>,
    /// The same by member.
    holds: HashMap<Vec<u8>, u64>,
    pub free: VecDeque<Vec<u8>>,
    given: HashMap<Id, Vec<Vec<u8>>>,
    ledger: VecDeque<LedgerEntry>,
}

/// Finds an open sale and brings it to now.
pub(super) fn find<'a>(space: &'a mut dyn Space, target: &SaleTarget, now: u64) -> Result<Option<&'a mut Sale>> {
    let key = &target.keys[0];
    let Some(object) = space.object(key)? else { return Ok(None) };
    let Some(sale) = object.downcast_mut::<Sale>() else { return Err(wrong_type(&[key])) };
    let (seen, offset) = sale.saved;
    let (time, now) = (now as i64 + offset, now as i64);
    sale.time = if time < seen as i64 { (seen, seen as i64 - now) } else { (time as u64, offset) };
    sale.latest = sale.time.0;
    Ok(Some(sale))
}

/// Makes the store keep the sale, after a call that may have written, for as long as it is to be kept.
pub(super) fn store(space: &mut dyn Space, target: &SaleTarget, now: u64) -> Result<()> {
    if let Some(sale) = find(space, target, now)? {
        let ttl = sale.kept.saturating_sub(sale.now());
        space.set_ttl(&target.keys[0], ttl.div_ceil(1_000));
    }
    Ok(())
}

impl Sale {
    pub fn new(opened: Opened, opener: Id, (retention, cap): (u64, u64), prizes: Vec<Vec<u8>>, now: u64) -> Sale {
        let mut sale = Sale {
            opener,
            closer: None,
            closed: false,
            prized: !prizes.is_empty(),
            per_buyer: opened.per_buyer,
            ends: opened.ends,
            retention,
            cap,
            available: opened.quantity,
            held: 0,
            sold: 0,
            entries: 0,
            saved: (0, -(now as i64)),
            time: (0, -(now as i64)),
            latest: 0,
            kept: 0,
            renew: true,
            due: NEVER,
            buyers: HashMap::new(),
            ends_of_holds: BTreeSet::new(),
            holds: HashMap::new(),
            free: prizes.into(),
            given: HashMap::new(),
            ledger: VecDeque::new(),
            opened,
        };
        sale.append(LedgerKind::Opened, None, None, sale.available);
        sale.save();
        sale
    }

    pub fn now(&self) -> u64 {
        self.time.0
    }

    /// A time of this sale by the server's clock.
    pub fn by_server(&self, time: u64) -> u64 {
        time.saturating_add_signed(-self.time.1)
    }

    pub fn is_due(&self) -> bool {
        self.due <= self.now()
    }

    /// Whether nothing can be taken any more.
    pub fn is_ended(&self, now: u64) -> bool {
        self.closed || (self.ends > 0 && now >= self.ends)
    }

    /// Saves it if the server's clock went back, or if it would be forgotten too soon.
    pub fn save_if_dirty(&mut self) {
        if self.time.1 != self.saved.1 || self.kept < self.now() + self.retention / 2 {
            self.save();
        }
    }

    pub fn save(&mut self) {
        let end = if self.ends > 0 { self.ends.saturating_add_signed(self.time.1) } else { 0 };
        let latest = self.latest.max(self.now()).max(end);
        if self.renew || self.kept < latest + self.retention / 2 {
            self.kept = self.kept.max(latest + self.retention);
        }
        (self.saved, self.renew) = (self.time, false);
    }

    pub fn buyers(&self) -> u64 {
        self.buyers.len() as u64
    }

    pub fn of_buyer(&self, buyer: &[u8]) -> u64 {
        self.buyers.get(buyer).copied().unwrap_or(0)
    }

    /// When a hold ends; none if there is no such hold.
    pub fn end_of(&self, member: &[u8]) -> Option<u64> {
        self.holds.get(member).copied()
    }

    pub fn prizes_of(&self, id: &Id) -> Vec<Vec<u8>> {
        self.given.get(id).cloned().unwrap_or_default()
    }

    /// Holds that are not over, in the order in which they end: those after the given one if it ends then, else all that do not
    /// end before.
    pub fn holds_after(&self, end: u64, member: &[u8]) -> impl Iterator<Item = &(u64, Vec<u8>)> {
        let is_there = end > self.now() && self.end_of(member) == Some(end);
        let from = match is_there {
            true => Bound::Excluded((end, member.to_vec())),
            false => Bound::Included((end.max(self.now() + 1), Vec::new())),
        };
        self.ends_of_holds.range((from, Bound::Unbounded))
    }

    pub fn ledger(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.ledger.iter()
    }

    /// Holds units, of which there are enough.
    pub fn hold(&mut self, target: &SaleTarget, hold: &StockHold, till: u64) -> Vec<Vec<u8>> {
        self.renew |= self.held == 0;
        self.set_end(hold.member(), till);
        let drawn: Vec<Vec<u8>> =
            if self.prized { self.free.drain(..hold.quantity as usize).collect() } else { Vec::new() };
        if self.prized {
            self.given.insert(hold.id, drawn.clone());
        }
        *self.buyers.entry(hold.buyer.clone()).or_default() += hold.quantity;
        self.available -= hold.quantity;
        self.held += hold.quantity;
        self.due = self.due.min(till);
        self.append(LedgerKind::Held, Some((target, hold)), Some(drawn.clone()), hold.quantity);
        self.save();
        drawn
    }

    /// Moves the end of a hold.
    pub fn extend(&mut self, target: &SaleTarget, hold: &StockHold, till: u64) {
        self.set_end(hold.member(), till);
        self.append(LedgerKind::Extended, Some((target, hold)), None, hold.quantity);
        self.save();
    }

    /// Sells what a hold has.
    pub fn sell(&mut self, target: &SaleTarget, hold: &StockHold) {
        self.forget(&hold.member());
        self.held -= hold.quantity;
        self.sold += hold.quantity;
        let given = self.given.remove(&hold.id);
        self.append(LedgerKind::Confirmed, Some((target, hold)), given, hold.quantity);
        self.save();
    }

    /// Returns what a hold has.
    pub fn give_back(&mut self, target: &SaleTarget, hold: &StockHold, kind: LedgerKind) {
        self.forget(&hold.member());
        if let Some(count) = self.buyers.get_mut(&hold.buyer) {
            *count -= hold.quantity;
            if *count == 0 {
                self.buyers.remove(&hold.buyer);
            }
        }
        self.free.extend(self.given.remove(&hold.id).unwrap_or_default());
        self.available += hold.quantity;
        self.held -= hold.quantity;
        self.append(kind, Some((target, hold)), None, hold.quantity);
        self.save();
    }

    /// Returns up to `most` of the holds that are over, as far as the call may.
    pub fn release(&mut self, target: &SaleTarget, most: usize, budget: &mut Budget) {
        let now = self.now();
        for _ in 0..most {
            let first = self.ends_of_holds.first().filter(|(till, _)| *till <= now && budget.prizes > 0);
            let Some(hold) = first.and_then(|(_, member)| StockHold::of_member(member)) else { break };
            if self.prized {
                budget.prizes = budget.prizes.saturating_sub(hold.quantity);
            }
            self.give_back(target, &hold, LedgerKind::Expired);
        }
        self.due = self.ends_of_holds.first().map_or(NEVER, |(till, _)| *till);
        self.renew = true;
        self.save();
    }

    pub fn restock(&mut self, quantity: u64, prizes: &[Vec<u8>]) {
        self.free.extend(prizes.iter().cloned());
        self.available += quantity;
        self.append(LedgerKind::Restocked, None, None, quantity);
        self.save();
    }

    /// Ends it for good.
    pub fn close(&mut self, closer: Id, now: u64) {
        (self.closer, self.closed, self.ends, self.kept) = (Some(closer), true, now, 0);
        self.latest = self.ends_of_holds.last().map_or(0, |(till, _)| *till).max(self.now());
        self.append(LedgerKind::Closed, None, None, 0);
        self.save();
    }

    fn set_end(&mut self, member: Vec<u8>, till: u64) {
        self.latest = till;
        if let Some(before) = self.holds.insert(member.clone(), till) {
            self.ends_of_holds.remove(&(before, member.clone()));
        }
        self.ends_of_holds.insert((till, member));
    }

    fn forget(&mut self, member: &[u8]) {
        if let Some(till) = self.holds.remove(member) {
            self.ends_of_holds.remove(&(till, member.to_vec()));
        }
    }

    fn append(
        &mut self,
        kind: LedgerKind,
        of: Option<(&SaleTarget, &StockHold)>,
        prizes: Option<Vec<Vec<u8>>>,
        quantity: u64,
    ) {
        self.entries += 1;
        self.ledger.push_back(LedgerEntry {
            id: format!("{}-0", ENTRIES.fetch_add(1, Ordering::Relaxed) + 1),
            number: self.entries,
            kind,
            reservation: of.map(|(target, hold)| id::encode(target, hold)),
            buyer: of.map(|(_, hold)| hold.buyer.clone()),
            quantity,
            time: self.by_server(self.now()),
            available: self.available,
            held: self.held,
            sold: self.sold,
            prizes: prizes.unwrap_or_default(),
        });
        while self.ledger.len() as u64 > self.cap {
            self.ledger.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_of_a_new_sale_goes_on_after_that_of_the_old_one() {
        let opened = Opened { quantity: 1, per_buyer: 0, ends: 0, prizes: [0; 20] };
        let last_of = |sale: &Sale| {
            let last = sale.ledger().last().unwrap();
            (last.id.split_once('-').unwrap().0.parse::<u64>().unwrap(), last.number)
        };
        let mut old = Sale::new(opened.clone(), [0; 16], (1, 1_000), Vec::new(), 1);
        old.restock(1, &[]);
        let (new, old) = (last_of(&Sale::new(opened, [1; 16], (1, 1_000), Vec::new(), 2)), last_of(&old));
        assert!(new.0 > old.0 && (new.1, old.1) == (1, 2), "{new:?} after {old:?}");
    }
}
