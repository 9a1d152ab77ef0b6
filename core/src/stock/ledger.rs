//! What was done with a sale, in its order: twin of `ledger.lua`.

use std::sync::Arc;

use super::id::{self, MAX_MEMBER_BYTES, StockHold};
use super::ledger_entry::{LedgerEntry, LedgerKind};
use super::options::{MAX_PRIZE_BYTES, MAX_PRIZES_OF_A_TAKE};
use super::scripts::LEDGER;
use super::{SaleTarget, sale};
use wire::base::error::shown;
use wire::call::prelude::*;

const NUMBERS: usize = 6;
/// A page has no more entries once it has so many bytes.
const MAX_PAGE_BYTES: i64 = 1 << 20;

/// Checks what a ledger's entries are known by.
pub(super) fn check_entry_id(id: &str) -> Result<()> {
    let is_number =
        |digits: &str| !digits.is_empty() && digits.len() <= 19 && digits.bytes().all(|b| b.is_ascii_digit());
    if id.split_once('-').is_some_and(|(ms, number)| is_number(ms) && is_number(number)) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "after \"{}\" is not the id of a ledger entry: give one, or none",
        shown(id.as_bytes())
    )))
}

pub(super) struct ReadLedger {
    pub target: Arc<SaleTarget>,
    pub after: Option<String>,
    pub count: u64,
}

impl ReadLedger {
    fn read(&self, fields: &[Reply]) -> Result<LedgerEntry> {
        let (id, entry, packed) = (bytes(fields, 0)?, bytes(fields, 1)?, bytes(fields, 2)?);
        let odd = || odd_reply("an entry of another form".into());
        let (numbers, rest) = entry.split_at_checked(8 * NUMBERS).ok_or_else(odd)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| numbers[8 * at + byte]));
        let (byte, member) = rest.split_first().ok_or_else(odd)?;
        let kind = LedgerKind::ALL.into_iter().find(|(each, _)| each == byte).ok_or_else(odd)?.1;
        let hold = StockHold::of_member(member).ok_or_else(odd)?;
        let is_of_one = !hold.buyer.is_empty();
        Ok(LedgerEntry {
            id: String::from_utf8_lossy(&id).into_owned(),
            number: number(3),
            kind,
            reservation: is_of_one.then(|| id::encode(&self.target, &hold)),
            quantity: hold.quantity,
            buyer: is_of_one.then_some(hold.buyer),
            time: number(4).wrapping_sub(number(5)),
            available: number(0),
            held: number(1),
            sold: number(2),
            prizes: unpacked(&packed),
        })
    }

    /// As the script shows it.
    fn shown_by_script(entry: &LedgerEntry, target: &SaleTarget) -> Result<[Reply; 3]> {
        let hold = match &entry.reservation {
            Some(text) => id::decode(target, text)?,
            None => StockHold { id: [0; 16], quantity: entry.quantity, buyer: Vec::new() },
        };
        let mut raw = Vec::new();
        for number in [entry.available, entry.held, entry.sold, entry.number, entry.time, 0] {
            raw.extend_from_slice(&number.to_le_bytes());
        }
        raw.extend(LedgerKind::ALL.into_iter().find(|(_, kind)| *kind == entry.kind).map(|(byte, _)| byte));
        let member = hold.member();
        raw.extend_from_slice(if hold.buyer.is_empty() { &member[..24] } else { &member });
        let packed =
            entry.prizes.iter().flat_map(|prize| [&(prize.len() as u32).to_le_bytes(), prize.as_slice()].concat());
        Ok([Reply::Bytes(entry.id.clone().into_bytes()), Reply::Bytes(raw), Reply::Bytes(packed.collect())])
    }
}

/// What reads as prizes: the rest was written by others.
fn unpacked(mut packed: &[u8]) -> Vec<Vec<u8>> {
    let mut prizes = Vec::new();
    while let Some((length, rest)) = packed.split_first_chunk::<4>()
        && let Some((prize, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)
    {
        prizes.push(prize.to_vec());
        packed = rest;
    }
    prizes
}

impl Command for ReadLedger {
    fn feature(&self) -> Feature {
        Feature::Stock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &LEDGER,
            keys: &self.target.keys,
            effect: Effect::Looks,
            name: ("reading of the ledger of", &self.target.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(self.after.as_deref().unwrap_or_default().as_bytes());
        args.number(self.count);
    }

    fn reply_limit(&self) -> ReplyLimit {
        let prizes = MAX_PRIZES_OF_A_TAKE as usize * (4 + MAX_PRIZE_BYTES);
        // An entry's id and its numbers stand beside the member.
        let count = self.count as usize;
        ReplyLimit::of(3 * count, count * (128 + MAX_MEMBER_BYTES + prizes))
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let mut reply = vec![int(1), int(now)];
        let Some(sale) = sale::find(space, &self.target, now)? else { return Ok(reply) };
        let target = |id: &str| id.split_once('-').and_then(|(target, _)| target.parse().ok()).unwrap_or(0_u64);
        let after = self.after.as_deref().map_or(0, target);
        let later = sale.ledger().filter(|entry| target(&entry.id) > after);
        let mut left = MAX_PAGE_BYTES;
        for entry in later.take(self.count as usize) {
            if left <= 0 {
                break;
            }
            let shown = Self::shown_by_script(entry, &self.target)?;
            let size = |field: &Reply| if let Reply::Bytes(bytes) = field { bytes.len() as i64 } else { 0 };
            left -= size(&shown[1]) + size(&shown[2]);
            reply.extend(shown);
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        Ok(Answer::new(fields.chunks(3).map(|fields| self.read(fields)).collect::<Result<Vec<LedgerEntry>>>()?))
    }
}
