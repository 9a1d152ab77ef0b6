//! Taking permits, or waiting for them: twin of `acquire.lua`.

use std::sync::Arc;

use super::table::{LeaseHolder, LeaseTable, Waiter, waits_in_order};
use super::{ACQUIRE, AttemptId, Channel, HEARTBEAT, MOST_HOLDERS, MOST_WAITERS, QueueMode, kept_for, load_all, save};
use wire::call::prelude::*;

pub(super) const REFUSED: u64 = 0;
pub(super) const GRANTED: u64 = 1;
pub(super) const CANCELLED: u64 = 2;

/// One try of one attempt to take permits of every table, or of none.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The whole Redis keys of the tables, each once.
    pub keys: Arc<[Vec<u8>]>,
    /// Of the attempt: all its tries have the same, and no other attempt ever has.
    pub id: AttemptId,
    /// How long the lease lasts, in microseconds from now by the server's clock.
    pub ttl: u64,
    /// A token that this one must exceed, at most [`MAX_FLOOR`](super::MAX_FLOOR).
    pub floor: u64,
    /// How many permits there are, at most [`ALL_PERMITS`](super::ALL_PERMITS).
    pub permits: u64,
    /// How many of them it wants, from 1; more than there are is never granted.
    pub weight: u64,
    /// How it waits if it is refused.
    pub queue: QueueMode,
    /// Where it listens; zeros if it does not wait.
    pub channel: Channel,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// Who wants to hold, for people; at most [`MAX_WHO_BYTES`](super::MAX_WHO_BYTES).
    pub who: Arc<[u8]>,
    /// A holder to release first. Then it is granted only if no earlier caller waits.
    pub instead_of: Option<AttemptId>,
    /// For how many microseconds it has waited; a table that knows of more goes by that.
    pub waited: u64,
    /// The token that it has on other servers; 0 gets it a new one.
    pub token: u64,
    /// What it is about, for messages: `lock "invoice:42"`.
    pub shown: Arc<str>,
}

/// The answer to a try to acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What became of it.
    pub outcome: AcquireOutcome,
    /// Whether a value that was not ours stood at a key and was replaced.
    pub healed: bool,
    /// Whether an earlier copy of the call was sent, of which it is unknown whether it arrived or will arrive.
    pub repeated: bool,
}

impl Grant {
    /// Whether it was granted.
    pub fn is_granted(&self) -> bool {
        matches!(self.outcome, AcquireOutcome::Granted { .. })
    }
}

/// What became of a try to acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireOutcome {
    /// It holds.
    Granted {
        /// The fencing token.
        token: u64,
        /// Whether the holder to be released first did hold, in every table.
        released: bool,
    },
    /// Its attempt was given up before.
    Cancelled {
        /// As of [`Granted`](AcquireOutcome::Granted).
        released: bool,
    },
    /// It does not hold.
    Refused {
        /// As of [`Granted`](AcquireOutcome::Granted).
        released: bool,
        /// After how many microseconds the first of those who stand in the way is over.
        wait: u64,
        /// How many waiters are before it.
        place: u64,
        /// Who the first holder is; empty if only waiters stand in the way.
        holder: Vec<u8>,
    },
}

/// How a try stands towards one table.
struct Standing {
    holding: Option<usize>,
    waiting: Option<usize>,
    /// Why it is refused.
    refusal: Option<LeaseRefusal>,
}

/// Since when a try waits, and whether in order.
#[derive(Clone, Copy)]
struct WaitOrder {
    since: u64,
    in_order: bool,
    /// Whether it stands in every table if one refuses. Else it stands only where it is refused: in some of the others it
    /// could keep those out for whom it waits.
    stands: bool,
}

/// Why a table refuses.
struct LeaseRefusal {
    wait: u64,
    place: u64,
    holder: Vec<u8>,
}

impl Acquire {
    fn wait_order(&self, tables: &[LeaseTable], now: u64) -> WaitOrder {
        let known = tables.iter().filter_map(|table| table.waiting(&self.id).map(|at| table.waiters[at].since)).min();
        let since = known.into_iter().fold(now.saturating_sub(self.waited), u64::min);
        let in_order = waits_in_order(self.queue == QueueMode::Order, since, now);
        let has_room = |table: &LeaseTable| {
            let knows = table.holding(&self.id).is_some() || table.waiting(&self.id).is_some();
            knows || table.waiters.len() < MOST_WAITERS
        };
        WaitOrder { since, in_order, stands: in_order && self.queue != QueueMode::No && tables.iter().all(has_room) }
    }

    fn standing(&self, table: &LeaseTable, turn: WaitOrder, now: u64) -> Standing {
        let (holding, waiting) = (table.holding(&self.id), table.waiting(&self.id));
        let refusal = if holding.is_some() { None } else { self.refusal(table, waiting, turn, now) };
        Standing { holding, waiting, refusal }
    }

    fn refusal(&self, table: &LeaseTable, waiting: Option<usize>, turn: WaitOrder, now: u64) -> Option<LeaseRefusal> {
        let place = table.queue_position(turn.since, &self.id);
        let goes_first = turn.in_order || waiting.is_some_and(|at| table.waiters[at].goes_first(now));
        let stop = if goes_first { place } else { table.waiters.len() };
        let full = table.holders.len() >= MOST_HOLDERS || table.held() + self.weight > self.permits;
        let ahead: u64 = table.ahead(stop, waiting, now).map(|waiter| waiter.weight).sum();
        let earlier = place - usize::from(waiting.is_some_and(|at| at < place));
        let fits = !full && table.held() + ahead + self.weight <= self.permits;
        if fits && (self.instead_of.is_none() || earlier == 0) {
            return None;
        }
        let deadlines = table.holders.iter().map(|held| held.deadline);
        let earliest = deadlines.chain(table.ahead(stop, waiting, now).map(|waiter| waiter.until)).min();
        Some(LeaseRefusal {
            wait: earliest.map_or(HEARTBEAT, |earliest| earliest - now),
            place: waiting.unwrap_or(table.waiters.len()) as u64,
            holder: table.holders.first().filter(|_| full).map(|held| held.who.clone()).unwrap_or_default(),
        })
    }

    fn grant(&self, table: &mut LeaseTable, standing: &Standing, token: u64, now: u64) {
        if let Some(at) = standing.waiting {
            table.dismiss(at, now);
        }
        match standing.holding {
            Some(at) => {
                table.renew(at, now, self.ttl);
                table.holders[at].token = token;
            }
            None => table.holders.push(LeaseHolder {
                id: self.id,
                deadline: now + self.ttl,
                ttl: self.ttl,
                token,
                since: now,
                weight: self.weight,
                who: self.who.to_vec(),
            }),
        }
        table.last = table.last.max(token);
    }

    /// Leaves a waiter, in the place that it came for; whether there was room.
    fn wait(&self, table: &mut LeaseTable, waiting: Option<usize>, since: u64, now: u64) -> bool {
        match waiting {
            Some(at) => drop(table.waiters.remove(at)),
            None if table.waiters.len() >= MOST_WAITERS => return false,
            None => {}
        }
        let waiter = Waiter {
            id: self.id,
            until: now + HEARTBEAT,
            since,
            weight: self.weight,
            fair: self.queue == QueueMode::Order,
            told: false,
            channel: self.channel,
        };
        table.waiters.insert(table.queue_position(since, &self.id), waiter);
        true
    }
}

impl Command for Acquire {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &ACQUIRE, keys: &self.keys, effect: Effect::Repeatable, name: ("acquire of", &self.shown) }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.numbers([self.ttl, self.floor, self.permits, self.weight, self.queue as u64]);
        args.bytes(&self.channel);
        args.bytes(&self.wake_prefix);
        args.bytes(&self.who);
        args.bytes(self.instead_of.as_ref().map_or(&[], |id| id.as_slice()));
        args.number(self.waited);
        args.number(self.token);
        args.number(kept_for(self.ttl));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let tables = load_all(space, &self.keys, now, self.instead_of.as_ref())?;
        let turn = self.wait_order(&tables, now);
        let standings: Vec<Standing> = tables.iter().map(|table| self.standing(table, turn, now)).collect();
        let outcome = match () {
            () if tables.iter().any(|table| table.is_cancelled(&self.id)) => CANCELLED,
            () if standings.iter().any(|standing| standing.refusal.is_some()) => REFUSED,
            () => GRANTED,
        };
        let owned: Option<Vec<u64>> = (standings.iter().zip(&tables))
            .map(|(standing, table)| standing.holding.map(|at| table.holders[at].token))
            .collect();
        let recorded = owned.and_then(|tokens| tokens.into_iter().max()).filter(|token| *token > self.floor);
        let token = match (recorded, self.token) {
            (Some(recorded), _) => recorded,
            (None, 0) => tables.iter().map(|table| table.last + 1).fold(now.max(self.floor + 1), u64::max),
            (None, known) => known,
        };
        let healed = tables.iter().any(|table| table.foreign);
        let released = self.instead_of.is_some() && tables.iter().all(|table| table.left);
        let mut worst = LeaseRefusal { wait: 0, place: 0, holder: Vec::new() };
        for ((key, mut table), standing) in self.keys.iter().zip(tables).zip(standings) {
            let mut changed = table.foreign || table.changed;
            let mut freed = table.left;
            match standing.refusal {
                _ if outcome == GRANTED => {
                    self.grant(&mut table, &standing, token, now);
                    changed = true;
                }
                _ if outcome == CANCELLED => {}
                Some(refusal) => {
                    worst.wait = worst.wait.max(refusal.wait);
                    worst.place = worst.place.max(refusal.place);
                    if worst.holder.is_empty() {
                        worst.holder = refusal.holder;
                    }
                    changed |= self.queue != QueueMode::No && self.wait(&mut table, standing.waiting, turn.since, now);
                }
                None if turn.stands && standing.holding.is_none() => {
                    changed |= self.wait(&mut table, standing.waiting, turn.since, now);
                }
                // Not this table refuses: those who wait in it need not wait for the others.
                None if self.queue != QueueMode::No => {
                    if let Some(at) = standing.waiting {
                        freed |= table.dismiss(at, now);
                        changed = true;
                    }
                }
                None => {}
            }
            let told = if freed { table.wake(self.permits, now) } else { Vec::new() };
            if changed {
                save(space, key, &table, now, &told, &self.wake_prefix);
            }
        }
        let mut reply = vec![Reply::Int(1), int(now), int(healed.into()), int(outcome), int(released.into())];
        match outcome {
            GRANTED => reply.push(int(token)),
            REFUSED => reply.extend([int(worst.wait), int(worst.place), Reply::Bytes(worst.holder)]),
            _ => {}
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        // Repeated, as of a release: who is not there any more was released by the first try.
        let released = if origin.is_repeated { self.instead_of.is_some() } else { unsigned(fields, 2)? == 1 };
        let outcome = match (unsigned(fields, 1)?, fields.len()) {
            (REFUSED, 6) => AcquireOutcome::Refused {
                released,
                wait: unsigned(fields, 3)?,
                place: unsigned(fields, 4)?,
                holder: bytes(fields, 5)?,
            },
            (GRANTED, 4) => AcquireOutcome::Granted { token: unsigned(fields, 3)?, released },
            (CANCELLED, 3) => AcquireOutcome::Cancelled { released },
            (other, count) => return Err(odd_reply(format!("outcome {other} with {count} fields"))),
        };
        Ok(Answer::new(Grant { outcome, healed: unsigned(fields, 0)? == 1, repeated: origin.is_repeated }))
    }

    fn has_written(&self, answer: &Answer) -> bool {
        answer.get::<Grant>().is_some_and(|grant| grant.is_granted() && !grant.repeated)
    }
}
