//! A limiter: a named policy, asked about keys.

pub(crate) mod algorithm;
mod all;
mod at_once;
mod call;
mod charges;
mod codec;
mod decided;
pub(crate) mod decision;
pub(crate) mod denials;
mod denied;
mod holds;
mod in_place;
mod known;
pub(crate) mod limiter_cache;
mod names;
pub(crate) mod policy;
mod prefetch;
mod prefetched;
pub(crate) mod purse;
mod replay;
mod request_memory;
mod reservation;
mod script;
mod spec;
mod state;
mod stored;
mod twin;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::key;
use crate::limiter::decision::Decision;
use crate::limiter::policy::{MAX_LIMIT, MAX_PERIOD, Policy};
pub use at_once::may_know;
use call::{LimiterCall, Verb};
pub use charges::{Charge, MAX_CHARGES};
pub use holds::Unsettled;
use names::Named;
pub use names::{has_limiter_warning, limiter_warning};
use prefetch::{Prefetch, PrefetchCall};
pub(crate) use prefetched::give_back;
pub use replay::{Replay, Replayed};
use request_memory::RequestMemory;
pub use reservation::Reservation;
use script::Scripts;
pub(crate) use script::scripts;
use spec::LimiterSpec;
pub use stored::{StoredHold, StoredLimiter};
use wire::base::error::{Error, Result, shown, span};
use wire::base::source::Source;
use wire::call::answer::AnswerValue;
use wire::call::resp;
use wire::metrics::DecisionCounters;
use wire::op::Op;

/// The largest cost of a call, 2^52.
pub const MAX_COST: u64 = MAX_LIMIT;
/// The shortest block or reservation in microseconds: 1 ms.
pub const MIN_BLOCK: u64 = 1_000;
/// The longest id of a request in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 256;

/// How a limiter is made, besides its name and policy.
#[derive(Clone, Debug)]
pub struct LimiterOptions {
    /// What all keys of the limiter share as their hash tag, so that they lie in one slot of a cluster and can be charged
    /// together with those of other limiters of that scope; none: each key is its own.
    pub scope: Option<Vec<u8>>,
    /// Whether the policy is enforced. If not, every call passes and [`Decision::would_deny`] tells what would have been
    /// denied (and was charged nothing): for trying a policy out on real traffic.
    pub enforce: bool,
    /// How many permits are taken from Redis at once at most, to be spent in this process without a call: 2 to the
    /// smallest capacity of the policy; none: each call asks. Decisions then say [`Source::Lease`](crate::Source).
    ///
    /// With fixed and calendar windows never more than the policy is admitted. A token bucket admits at most what it fills
    /// in the time that permits may lie here more: as long as it takes to fill as many, and 1 s at most. What is in
    /// memory, or not enforced, takes none.
    pub prefetch: Option<u64>,
}

impl Default for LimiterOptions {
    fn default() -> Self {
        LimiterOptions { scope: None, enforce: true, prefetch: None }
    }
}

/// Decides for keys by one policy. Cheap to clone; made by [`Client::limiter`].
///
/// Every method describes a call: `.run()` it on this thread or `.await` it. All of them can fail with `unavailable`,
/// `timeout`, `not_permitted`, `wrong_type` and `closed`, and with `invalid_argument` for a bad key or amount, before
/// anything is sent.
///
/// With a request id a call is charged once: the same id for the same verb and key gets the first answer again, whatever
/// the policy and cost are by now, while it is remembered ([`Options::request_memory`](crate::Options)), also when the first reply was lost. A denied call charged
/// nothing, so it is decided again.
#[derive(Clone)]
pub struct Limiter {
    client: Client,
    spec: Arc<LimiterSpec>,
}

impl Limiter {
    fn new(
        client: &Client,
        name: &str,
        policy: Policy,
        options: LimiterOptions,
        place: impl FnOnce() -> Option<String>,
    ) -> Result<Limiter> {
        key::check_name(name)?;
        if let Some(scope) = &options.scope {
            key::check_scope(scope)?;
        }
        if let Some(prefetch) = options.prefetch {
            prefetched::check(&policy, prefetch)?;
        }
        let mut policy_args = Vec::new();
        let mut policy_arg_count = 1;
        let heading = codec::heading(&policy);
        resp::part(&mut policy_args, &heading);
        for rule in policy.rules() {
            let rate = rule.rate();
            let told = rule.algorithm().definition().arguments().len();
            for number in &[rate.limit, rate.period, rule.capacity()][..told] {
                resp::number_part(&mut policy_args, *number);
            }
            policy_arg_count += told;
        }
        let stem = |kind| key::stem(&client.prefix, kind, name, options.scope.as_deref());
        let stem_of_keys = stem("limit");
        let server = client.session.endpoint.identity();
        let spec = LimiterSpec {
            shelf: denied::shelf(&client.session, &server, &stem_of_keys, &policy),
            name: name.into(),
            named: Named::note((&server, &stem_of_keys, name), (&policy, &policy_args), place),
            session: Arc::downgrade(&client.session),
            counters: DecisionCounters::of(name),
            reporter: client.reporter.clone(),
            asks: if client.is_in_memory() { Source::Memory } else { Source::Redis },
            scripts: Scripts::for_policy(&policy),
            stem: stem_of_keys,
            request_stem: stem("request"),
            scope: options.scope,
            enforce: options.enforce,
            prefetch: Prefetch::new(options.prefetch.unwrap_or(0), client.is_in_memory()),
            policy_args,
            policy_arg_count,
            heading,
            in_place: in_place::fits(&policy),
            policy,
        };
        Ok(Limiter { client: client.clone(), spec: Arc::new(spec) })
    }

    /// The name given.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The policy given.
    pub fn policy(&self) -> &Policy {
        &self.spec.policy
    }

    /// The scope given.
    pub fn scope(&self) -> Option<&[u8]> {
        self.spec.scope.as_deref()
    }

    /// Whether the policy is enforced.
    pub fn enforce(&self) -> bool {
        self.spec.enforce
    }

    /// How many permits it takes at once at most; none if each call asks.
    pub fn prefetch(&self) -> Option<u64> {
        Some(self.spec.prefetch.most).filter(|most| *most > 0)
    }

    /// Has no [warning](crate::limiter_warning) follow about limiters of this name: for a package that has warned of it where the name
    /// was given.
    pub fn name_is_known(&self) {
        self.spec.named.iter().for_each(|named| named.is_known());
    }

    /// The Redis key that holds the state of `key`.
    ///
    /// # Errors
    /// `invalid_argument` for an empty key or one over 1,024 bytes.
    pub fn redis_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        key::check_key(key)?;
        Ok(key::complete(&self.spec.stem, key))
    }

    /// Charges `cost` (0 to [`MAX_COST`]) to every rule if all admit it, else to none. A cost of 0 only looks; one above
    /// a limit is always denied.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or cost; see also the type.
    pub fn consume(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        self.consume_once(key, cost, None)
    }

    /// As [`consume`](Limiter::consume), charged once for this id (1 to [`MAX_REQUEST_ID_BYTES`] bytes) if there is one.
    ///
    /// # Errors
    /// As [`consume`](Limiter::consume), and for a bad request id.
    pub fn consume_once(&self, key: &[u8], cost: u64, request_id: Option<&[u8]>) -> Result<Op<Decision>> {
        check_cost(cost)?;
        if cost == 0 {
            request_id.map(|id| self.memory(key, Verb::Look.name(), id)).transpose()?;
            return self.call(Verb::Look, key, cost, None, None);
        }
        match request_id {
            None => self.ask(Verb::Consume, key, cost),
            Some(_) => self.call(Verb::Consume, key, cost, request_id, None),
        }
    }

    /// Charges as much as is admitted now, up to `most` (1 to [`MAX_COST`]); [`Decision::cost`] tells how much. Denied if
    /// that is nothing: then the answer is that of a cost of 1.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or amount.
    pub fn consume_up_to(&self, key: &[u8], most: u64) -> Result<Op<Decision>> {
        check_amount("taken", most)?;
        self.call(Verb::UpTo, key, most, None, None)
    }

    /// Charges `estimate` (1 to [`MAX_COST`]) as [`consume`](Limiter::consume) does, and holds it for `ttl` microseconds
    /// ([`MIN_BLOCK`] to 36,500 days): until then [`Reservation::settle`] puts the actual amount in its place. A
    /// reservation that is not settled ends by itself, as `unsettled` specifies.
    ///
    /// If the call is denied or fails, nothing is held. If its reply was lost it may be held until its end.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key, estimate or ttl.
    pub fn reserve(
        &self,
        key: &[u8],
        estimate: u64,
        ttl: u64,
        unsettled: Unsettled,
    ) -> Result<(Reservation, Op<Decision>)> {
        let reservation = Reservation::new(self, key)?;
        let call = self.reserve_as(&reservation, estimate, ttl, unsettled)?;
        Ok((reservation, call))
    }

    pub(crate) fn reserve_as(
        &self,
        reservation: &Reservation,
        estimate: u64,
        ttl: u64,
        unsettled: Unsettled,
    ) -> Result<Op<Decision>> {
        check_amount("reserved", estimate)?;
        check_duration("ttl", ttl)?;
        let verb = Verb::Reserve { id: reservation.id_bytes(), length: ttl, unsettled };
        self.call(verb, reservation.key(), estimate, None, None)
    }

    /// Tells what [`consume`](Limiter::consume) of `cost` would return, and never writes.
    ///
    /// # Errors
    /// As [`consume`](Limiter::consume).
    pub fn peek(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        check_cost(cost)?;
        self.call(Verb::Look, key, cost, None, None)
    }

    /// As [`consume`](Limiter::consume), but a denial is the error `limited`, which carries the decision.
    ///
    /// # Errors
    /// `limited`; else as [`consume`](Limiter::consume).
    pub fn require(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        check_cost(cost)?;
        self.ask(Verb::Require, key, cost)
    }

    /// As [`consume`](Limiter::consume), and after a denial sleeps as `retry_after` says and tries again. Ends with a
    /// denial at once when the next chance lies behind `timeout`.
    ///
    /// # Errors
    /// As [`consume`](Limiter::consume).
    pub fn wait(&self, key: &[u8], cost: u64, timeout: Duration) -> Result<Op<Decision>> {
        check_cost(cost)?;
        let verb = if cost == 0 { Verb::Look } else { Verb::Consume };
        self.call(verb, key, cost, None, Some(timeout))
    }

    /// Gives back `amount` (1 to [`MAX_COST`]) of what was consumed; no rule falls below zero, what is over stays so.
    /// Answers what a peek of cost 1 right after it would.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or amount.
    pub fn refund(&self, key: &[u8], amount: u64) -> Result<Op<Decision>> {
        self.refund_once(key, amount, None)
    }

    /// As [`refund`](Limiter::refund), given back once for this id if there is one.
    ///
    /// # Errors
    /// As [`refund`](Limiter::refund), and for a bad request id.
    pub fn refund_once(&self, key: &[u8], amount: u64, request_id: Option<&[u8]>) -> Result<Op<Decision>> {
        check_amount("refunded", amount)?;
        self.call(Verb::Refund, key, amount, request_id, None)
    }

    /// Denies everything for `duration` microseconds ([`MIN_BLOCK`] to 36,500 days), in place of an earlier block.
    /// Answers what a peek of cost 1 right after it would. Fails whatever `on_error` says: a block that was not stored
    /// must not look like one.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or duration.
    pub fn block(&self, key: &[u8], duration: u64) -> Result<Op<Decision>> {
        check_duration("duration", duration)?;
        self.call(Verb::Block, key, duration, None, None)
    }

    /// Forgets everything about `key`, a block and holds included; true if there was anything. Fails whatever `on_error`
    /// says.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key.
    pub fn reset(&self, key: &[u8]) -> Result<Op<bool>> {
        self.call(Verb::Reset, key, 0, None, None)
    }

    fn call<T: AnswerValue>(
        &self,
        verb: Verb,
        key: &[u8],
        amount: u64,
        request_id: Option<&[u8]>,
        wait: Option<Duration>,
    ) -> Result<Op<T>> {
        let memory = request_id.map(|id| self.memory(key, verb.name(), id)).transpose()?;
        key::check_key(key)?;
        Ok(Op::new(&self.client.session, Box::new(self.command(verb, key, amount, memory)), wait))
    }

    /// What a call about this key, which was checked, asks.
    fn command(&self, verb: Verb, key: &[u8], amount: u64, memory: Option<RequestMemory>) -> LimiterCall {
        let (recall, redis_key) = (self.recall(key), key::complete(&self.spec.stem, key));
        let is_prefetched = match verb {
            Verb::Consume | Verb::Require => memory.is_none() && self.spec.prefetches(amount),
            Verb::Refund | Verb::Block | Verb::Reset => true,
            _ => false,
        };
        let prefetch = is_prefetched.then(|| PrefetchCall::new(&self.client));
        LimiterCall { spec: self.spec.clone(), verb, key: redis_key, amount, memory, recall, prefetch }
    }

    /// Where a request of this verb about this key is remembered.
    fn memory(&self, key: &[u8], verb: &str, id: &[u8]) -> Result<RequestMemory> {
        key::check_key(key)?;
        if id.is_empty() || id.len() > MAX_REQUEST_ID_BYTES {
            let (id, length) = (shown(id), id.len());
            let message =
                format!("request_id \"{id}\" has {length} bytes: give 1 to {MAX_REQUEST_ID_BYTES}, such as a UUID");
            return Err(Error::invalid(message));
        }
        let mut whole = key::complete(&self.spec.request_stem, key);
        whole.extend_from_slice(format!(":{verb}:").as_bytes());
        key::encode_into(&mut whole, id);
        Ok(RequestMemory { key: whole, length: self.client.request_memory })
    }
}

impl Client {
    /// Makes a limiter: a name, part of its Redis keys, and a policy.
    ///
    /// # Errors
    /// `invalid_argument` for an empty or too long name.
    #[track_caller]
    pub fn limiter(&self, name: &str, policy: Policy) -> Result<Limiter> {
        self.limiter_with(name, policy, LimiterOptions::default())
    }

    /// As [`limiter`](Client::limiter), with options.
    ///
    /// # Errors
    /// `invalid_argument` for an empty or too long name or scope.
    #[track_caller]
    pub fn limiter_with(&self, name: &str, policy: Policy, options: LimiterOptions) -> Result<Limiter> {
        let caller = std::panic::Location::caller();
        self.limiter_at(name, policy, options, || Some(caller.to_string()))
    }

    /// As [`limiter_with`](Client::limiter_with), for a binding: `place` returns where in its user's code that is, such as
    /// `shop.py:12`, for a [warning](crate::limiter_warning) about two policies of one name. It is called only for the first
    /// limiter of a name and policy in this process.
    ///
    /// # Errors
    /// As [`limiter_with`](Client::limiter_with).
    pub fn limiter_at(
        &self,
        name: &str,
        policy: Policy,
        options: LimiterOptions,
        place: impl FnOnce() -> Option<String>,
    ) -> Result<Limiter> {
        Limiter::new(self, name, policy, options, place)
    }
}

#[inline]
fn check_cost(cost: u64) -> Result<()> {
    if cost > MAX_COST {
        return Err(Error::invalid(format!("cost {cost} is more than {MAX_COST} (2^52): give less")));
    }
    Ok(())
}

fn check_amount(done: &str, amount: u64) -> Result<()> {
    if amount == 0 || amount > MAX_COST {
        return Err(Error::invalid(format!("amount {amount} cannot be {done}: give 1 to {MAX_COST}")));
    }
    Ok(())
}

fn check_duration(what: &str, duration: u64) -> Result<()> {
    if !(MIN_BLOCK..=MAX_PERIOD).contains(&duration) {
        let given = span(duration);
        return Err(Error::invalid(format!("{what} of {given} is not between 1 ms and 36500 days: change it")));
    }
    Ok(())
}
