"""What a limiter must answer, written from the guides alone: no code, state or formula is shared with the engine.

An `Oracle` is one Redis with the time given to each call. Where the guides leave a question open, the answer that the
model takes stands in the doc comment of what it concerns, as a question.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from counts import COUNTS, Count, SlidingLog, SlidingWindow
from rules import AllSays, Policy, Rule, RuleSays, Says, longest

REMEMBERED = 60_000_000
SETTLED_KNOWN = 10_000_000
CARRIED = 10

Place = tuple[str, str | None, str]
"""A limiter's name and scope, and a key."""


@dataclass(frozen=True)
class Limiter:
    """What a call is decided by."""

    name: str
    policy: Policy
    scope: str | None = None
    enforce: bool = True


@dataclass(frozen=True)
class Hold:
    """A reservation: `actual` is None until it is settled; then it ends when that is no longer known."""

    start: int
    until: int
    estimate: int
    returned: bool
    actual: int | None = None


@dataclass
class State:
    """What is known of a key: the counts of the policy that wrote last, those of other policies, holds and a block."""

    own: list[Count] = field(default_factory=list)
    carried: list[Count] = field(default_factory=list)
    holds: dict[str, Hold] = field(default_factory=dict)
    block: tuple[int, int] | None = None
    over: list[int] = field(default_factory=list)
    latest: int = 0


@dataclass
class View:
    """What a call finds: a copy of the state, as it is for a policy now, which is kept if the call writes."""

    now: int
    counts: list[Count]
    carried: list[Count]
    holds: dict[str, Hold]
    block: tuple[int, int] | None
    moved: bool
    foreign: bool = False

    def blocked(self) -> int:
        """For how long the key is blocked."""
        return self.block[0] - self.now if self.block else 0


def same(one: Rule, other: Rule) -> bool:
    """Whether two rules are one: of one algorithm and period, and buckets of one rate.

    Question: a bucket whose limit changed and whose period did not, is it the same rule? Answer: its rate tells buckets
    apart, so it is another one that begins with what the old one counts; a window's limit may change.
    """
    if one.algorithm != other.algorithm:
        return False
    if one.algorithm == "token-bucket":
        return one.period * other.limit == other.period * one.limit
    return one.period == other.period


class Oracle:
    """Every key of one Redis."""

    def __init__(self) -> None:
        self.states: dict[Place, State] = {}
        self.requests: dict[tuple[object, ...], tuple[int, object]] = {}
        self.foreign: set[Place] = set()

    def plant(self, limiter: Limiter, key: str) -> None:
        """Somebody else's value stands at the key now: it is nothing, and the first call that writes replaces it."""
        self.states.pop((limiter.name, limiter.scope, key), None)
        self.foreign.add((limiter.name, limiter.scope, key))

    # What a call finds and leaves.

    def look(self, limiter: Limiter, key: str, now: int) -> View:
        """The state of a key for a policy: each rule finds its own by algorithm and period, first at its own place;
        one that has none begins with what another of its algorithm counts that nobody else found."""
        state = self.states.get((limiter.name, limiter.scope, key), State())
        state.latest = max(state.latest, now)
        all_counts = state.own + state.carried
        mine: dict[int, int] = {}

        def free(place: int) -> bool:
            return place not in mine.values()

        for place, rule in enumerate(limiter.policy):
            if place < len(all_counts) and same(all_counts[place].rule, rule):
                mine[place] = place
        for place, rule in enumerate(limiter.policy):
            if place not in mine:
                for other, count in enumerate(all_counts):
                    if free(other) and same(count.rule, rule):
                        mine[place] = other
                        break
        claimed = set(mine.values())
        for place, rule in enumerate(limiter.policy):
            if place not in mine and rule.algorithm != "sliding-log":
                for other, count in enumerate(all_counts):
                    if free(other) and count.rule.algorithm == rule.algorithm:
                        mine[place] = other
                        break
        counts = []
        logs = [count for count in all_counts if isinstance(count, SlidingLog)]
        for place, rule in enumerate(limiter.policy):
            if place in mine:
                count = all_counts[mine[place]]
            elif logs and rule.algorithm == "sliding-log":
                count = logs[0].beside(rule, min(log.gone for log in logs))
            else:
                count = COUNTS[rule.algorithm](rule)
            counts.append(count.seen(now, rule))
        carried = [count for other, count in enumerate(all_counts) if other not in claimed]
        view = View(now, counts, carried, dict(state.holds), state.block, any(count.moved for count in counts))
        if (limiter.name, limiter.scope, key) in self.foreign:
            view.foreign = view.moved = True
        self._block(view)
        self._end_holds(view)
        return view

    def _block(self, view: View) -> None:
        if view.block is None:
            return
        until, length = view.block
        if view.now >= until:
            view.block = None
        elif until > view.now + length:
            view.block, view.moved = (view.now + length, length), True

    def _end_holds(self, view: View) -> None:
        """Reservations end by themselves; one of the future begins now.

        Question: how much does one that is `returned` give back to a bucket if nobody calls at its end? Answer: what is
        not filled again when the next call finds it.
        """
        for name, hold in list(view.holds.items()):
            if hold.start > view.now:
                hold = replace(hold, start=view.now, until=view.now + hold.until - hold.start)
                view.holds[name], view.moved = hold, True
            if view.now < hold.until:
                continue
            for count in view.counts:
                if hold.returned and hold.actual is None:
                    count.give_back(view.now, name, hold.estimate, hold.estimate)
                count.forget(name)
            del view.holds[name]
            view.moved = True

    def keep(self, limiter: Limiter, key: str, view: View) -> None:
        """Writes what a call leaves. What others count is carried until it is over, ten of them at most; a log that
        nobody here has is forgotten."""
        self.foreign.discard((limiter.name, limiter.scope, key))
        carried = [count for count in view.carried if not isinstance(count, SlidingLog) and count.lasts(view.now)]
        logs = [count for count in view.counts if isinstance(count, SlidingLog)]
        for log in logs:
            log.trim(min(other.gone for other in logs))
        state = State(view.counts, carried[:CARRIED], view.holds, view.block)
        if all(count.empty() for count in view.counts) and not carried and not view.holds and not view.block:
            self.states.pop((limiter.name, limiter.scope, key), None)
        else:
            self.states[limiter.name, limiter.scope, key] = state
            state.latest = view.now
            ends = [
                view.now + count.seen(view.now, count.rule).reset_after(view.now) for count in state.own + state.carried
            ]
            ends += [hold.until for hold in view.holds.values()] + [view.block[0] if view.block else 0]
            state.over = ends

    def unsure(self, limiter: Limiter, key: str, now: int) -> bool:
        """Whether the guides say nothing of what a call finds, which the stories then leave out.

        Question: what does a clock that goes back find of what was over before? Answer: it may be gone or not.

        Question: what if the policy changes as the clock goes back? Answer: as of each alone, but not in which order.

        Question: what does a reservation give back to a sliding window whose clock went back behind the reservation, if
        the window had moved on? Answer: as if it had been charged now, so maybe what others took.

        Question: what does a log with a new period find in a policy of several? Answer: what another of them counts.

        Question: is a log forgotten when a policy without one is denied? Answer: only while there are reservations.
        """
        state = self.states.get((limiter.name, limiter.scope, key))
        if state is None:
            return False
        counts = state.own + state.carried
        logs = [count.rule for count in counts if isinstance(count, SlidingLog)]
        wanted = [rule for rule in limiter.policy if rule.algorithm == "sliding-log"]
        strange = [rule for rule in wanted if not any(same(log, rule) for log in logs)]
        return (
            any(now < over <= state.latest for over in state.over)
            or any(count.ahead(now) and not any(same(count.rule, rule) for rule in limiter.policy) for count in counts)
            or (
                any(hold.start > now for hold in state.holds.values())
                and any(isinstance(count, SlidingWindow) for count in counts)
            )
            or (len(logs) + len(wanted) > 2 and bool(logs) and (bool(strange) or len(logs) < len(wanted)))
            or (bool(state.holds) and bool(logs) and not wanted)
        )

    # What a call answers.

    def says(
        self,
        limiter: Limiter,
        view: View,
        cost: int,
        charged: bool = False,
        shown: int | None = None,
        writes: bool = True,
    ) -> Says:
        """The answer about `cost`; if it was `charged`, with what is left after it."""
        now = view.now
        rules = []
        for count in view.counts:
            wait = 0 if charged else count.retry_after(now, cost)
            rule = count.rule
            limit = rule.capacity
            rules.append(RuleSays(wait == 0, limit, count.remaining(now), wait, count.reset_after(now)))
        denied = [place for place, rule in enumerate(rules) if not rule.allowed]
        if denied:
            binds = rules[denied[longest([rules[place].retry_after for place in denied])]]
        else:
            binds = min(rules, key=lambda rule: rule.remaining)
        blocked = view.blocked()
        wait = binds.retry_after
        wait = None if wait is None else max(wait, blocked)
        denies = wait != 0
        return Says(
            allowed=not denies or not limiter.enforce,
            would_deny=denies and not limiter.enforce,
            limit=binds.limit,
            remaining=0 if blocked else binds.remaining,
            retry_after=wait,
            reset_after=max(binds.reset_after, blocked),
            cost=cost if shown is None else shown,
            rules=tuple(rules),
            healed=writes and view.foreign,
        )

    def peek(self, limiter: Limiter, key: str, cost: int, now: int) -> Says:
        """Looks and never writes."""
        return self.says(limiter, self.look(limiter, key, now), cost, writes=False)

    def consume(self, limiter: Limiter, key: str, cost: int, now: int, request: str | None = None) -> Says:
        """Charges `cost` if all rules admit it; a cost of 0 is a peek."""
        place = ("consume", limiter.name, limiter.scope, key, request)
        if cost and request is not None and (first := self._remembered(place, now)) is not None:
            assert isinstance(first, Says)
            return first
        answer, _ = self._charge(limiter, key, cost, now)
        if request is not None and cost and answer.allowed and not answer.would_deny:
            self.requests[place] = (now + REMEMBERED, answer)
        return answer

    def _charge(
        self, limiter: Limiter, key: str, cost: int, now: int, hold: str | None = None, made: Hold | None = None
    ) -> tuple[Says, bool]:
        view = self.look(limiter, key, now)
        answer = self.says(limiter, view, cost, writes=cost > 0)
        if not cost:
            return answer, False
        if answer.retry_after != 0:
            if view.moved:
                self.keep(limiter, key, view)
            return answer, False
        for count in view.counts:
            count.charge(now, cost, hold)
        if hold and made:
            view.holds[hold] = made
        self.keep(limiter, key, view)
        return self.says(limiter, view, cost, charged=True), True

    def consume_up_to(self, limiter: Limiter, key: str, most: int, now: int) -> Says:
        """Charges what there is, up to `most`. On trial all of it passes, and what there is is charged."""
        view = self.look(limiter, key, now)
        there = 0 if view.blocked() else min(count.remaining(now) for count in view.counts)
        taken = min(most, there)
        shown = taken if limiter.enforce else most
        if not taken:
            answer = self.says(limiter, view, 1, shown=shown)
            if view.moved:
                self.keep(limiter, key, view)
            return answer
        for count in view.counts:
            count.charge(now, taken)
        self.keep(limiter, key, view)
        answer = self.says(limiter, view, taken, charged=True, shown=shown)
        return replace(answer, would_deny=not limiter.enforce and taken < most)

    def refund(self, limiter: Limiter, key: str, amount: int, now: int, request: str | None = None) -> Says:
        """Gives back, and answers as a peek of 1 after it."""
        place = ("refund", limiter.name, limiter.scope, key, request)
        if request is not None and (first := self._remembered(place, now)) is not None:
            assert isinstance(first, Says)
            return first
        view = self.look(limiter, key, now)
        for count in view.counts:
            count.refund(now, amount)
        self.keep(limiter, key, view)
        answer = self.says(limiter, view, 1)
        if request is not None:
            self.requests[place] = (now + REMEMBERED, answer)
        return answer

    def reserve(self, limiter: Limiter, key: str, estimate: int, ttl: int, returned: bool, name: str, now: int) -> Says:
        """Charges an estimate and holds it."""
        return self._charge(limiter, key, estimate, now, name, Hold(now, now + ttl, estimate, returned))[0]

    def settle(self, limiter: Limiter, key: str, name: str, actual: int, now: int) -> bool:
        """Puts the actual amount in the place of the estimate.

        Question: for how long is settling again with the same amount true? Answer: for ten seconds, and no longer than
        the reservation would have been held.

        Question: does a settlement that changes nothing write a step of the clock down? Answer: no.
        """
        view = self.look(limiter, key, now)
        hold = view.holds.get(name)
        if hold is None or hold.actual is not None:
            return hold is not None and hold.actual == actual
        for count in view.counts:
            if actual < hold.estimate:
                count.give_back(now, name, hold.estimate, hold.estimate - actual)
            elif actual > hold.estimate:
                count.charge(now, actual - hold.estimate)
            count.forget(name)
        until = min(hold.until, now + SETTLED_KNOWN)
        view.holds[name] = replace(hold, start=now, until=until, actual=actual)
        self.keep(limiter, key, view)
        return True

    def block(self, limiter: Limiter, key: str, duration: int, now: int) -> Says:
        """Denies everything until then."""
        view = self.look(limiter, key, now)
        view.block = (now + duration, duration)
        self.keep(limiter, key, view)
        return self.says(limiter, view, 1)

    def reset(self, limiter: Limiter, key: str, now: int) -> bool:
        """Forgets the key; whether there was anything that still counts."""
        view = self.look(limiter, key, now)
        live = any(not count.empty() for count in view.counts) or bool(view.holds) or view.block is not None
        live = live or view.foreign
        self.foreign.discard((limiter.name, limiter.scope, key))
        self.states.pop((limiter.name, limiter.scope, key), None)
        return live

    def consume_all(self, charges: list[tuple[Limiter, str, int]], now: int, request: str | None = None) -> AllSays:
        """Charges all keys or none; one that is on trial denies no other, and is charged what it admits itself.

        Question: what does a repeated id answer if the charges come in another order? Answer: each key its own first
        decision, and who binds is found among them anew.

        Question: is a call remembered that passed and charged nothing, since all are on trial? Answer: yes.
        """
        places = frozenset((limiter.name, limiter.scope, key) for limiter, key, _ in charges)
        place = ("consume_all", places, request)
        if request is not None and (known := self._remembered(place, now)) is not None:
            assert isinstance(known, dict)
            return combined([known[limiter.name, limiter.scope, key] for limiter, key, _ in charges])
        views = [self.look(limiter, key, now) for limiter, key, _ in charges]
        alone = [
            self.says(limiter, view, cost, writes=cost > 0)
            for (limiter, _, cost), view in zip(charges, views, strict=True)
        ]
        passes = all(answer.allowed for answer in alone)
        answers = []
        for (limiter, key, cost), view, answer in zip(charges, views, alone, strict=True):
            if passes and cost and answer.retry_after == 0:
                for count in view.counts:
                    count.charge(now, cost)
                self.keep(limiter, key, view)
                answers.append(self.says(limiter, view, cost, charged=True))
                continue
            if cost and view.moved:
                self.keep(limiter, key, view)
            answers.append(answer)
        if request is not None and passes:
            by_place = {
                (limiter.name, limiter.scope, key): answer
                for (limiter, key, _), answer in zip(charges, answers, strict=True)
            }
            self.requests[place] = (now + REMEMBERED, by_place)
        return combined(answers)

    def _remembered(self, place: tuple[object, ...], now: int) -> object | None:
        until, answer = self.requests.get(place, (0, None))
        return answer if now < until else None


def combined(answers: list[Says]) -> AllSays:
    """Several decisions as one."""
    enforced = [place for place, answer in enumerate(answers) if not answer.allowed]
    if enforced:
        binding = enforced[longest([answers[place].retry_after for place in enforced])]
    else:
        binding = min(range(len(answers)), key=lambda place: answers[place].remaining)
    return AllSays(
        allowed=not enforced,
        would_deny=any(answer.would_deny for answer in answers),
        binding=binding,
        retry_after=answers[binding].retry_after if enforced else 0,
        decisions=tuple(answers),
    )
