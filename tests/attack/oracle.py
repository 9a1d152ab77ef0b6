"""What a limiter must answer, written from the guides alone: no code, state or formula is shared with the engine.

An `Oracle` is one Redis with the time given to each call. Where the guides leave a question open, the answer that the
model takes stands in the doc comment of what it concerns, as a question.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

from rules import AllSays, Policy, RuleSays, Says, longest
from states import Hold, Place, States, View, charge, forget, give_back

REMEMBERED = 60_000_000
LONGEST_MEMORY = 86_400_000_000
SETTLED_KNOWN = 10_000_000


@dataclass(frozen=True)
class Limiter:
    """What a call is decided by."""

    name: str
    policy: Policy
    scope: str | None = None
    enforce: bool = True

    def at(self, key: str) -> Place:
        """Where the state of a key is."""
        return self.name, self.scope, key


class Oracle:
    """Every key of one Redis."""

    def __init__(self) -> None:
        self.states = States()
        self.requests: dict[tuple[object, ...], tuple[int, object]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oracle) and self.states == other.states and self.requests == other.requests

    def rounding(self, ways: tuple[int, ...]) -> Iterator[Oracle]:
        """Itself if there is one way to round a bucket's new time, else a copy for each."""
        if len(ways) == 1:
            yield self
            return
        for more in ways:
            tried = deepcopy(self)
            tried.states.more, tried.states.rounded = more, False
            yield tried

    def look(self, limiter: Limiter, key: str, now: int, writes: bool = True) -> View:
        """What a call finds."""
        return self.states.look(limiter.at(key), limiter.policy, now, writes)

    def keep(self, limiter: Limiter, key: str, view: View) -> None:
        """Writes what a call leaves."""
        self.states.keep(limiter.at(key), view)

    def unsure(self, limiter: Limiter, key: str, now: int) -> bool:
        """Whether nobody can say what a call finds."""
        return self.states.unsure(limiter.at(key), limiter.policy, now)

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
        return self.says(limiter, self.look(limiter, key, now, writes=False), cost, writes=False)

    def consume(self, limiter: Limiter, key: str, cost: int, now: int, request: str | None = None) -> Says:
        """Charges `cost` if all rules admit it; a cost of 0 is a peek."""
        place = ("consume", limiter.name, limiter.scope, key, request)
        if cost and request is not None and (first := self._remembered(place, now)) is not None:
            assert isinstance(first, Says)
            return enforced(first, limiter)
        answer, _ = self._charge(limiter, key, cost, now)
        if request is not None and cost and answer.allowed and not answer.would_deny:
            self.requests[place] = (now + REMEMBERED, answer)
        return answer

    def _charge(
        self, limiter: Limiter, key: str, cost: int, now: int, hold: str | None = None, made: Hold | None = None
    ) -> tuple[Says, bool]:
        view = self.look(limiter, key, now, writes=cost > 0)
        answer = self.says(limiter, view, cost, writes=cost > 0)
        if not cost:
            return answer, False
        if answer.retry_after != 0:
            if view.moved:
                self.keep(limiter, key, view)
            return answer, False
        charge(view, cost, hold)
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
        charge(view, taken)
        self.keep(limiter, key, view)
        answer = self.says(limiter, view, taken, charged=True, shown=shown)
        return replace(answer, would_deny=not limiter.enforce and taken < most)

    def refund(self, limiter: Limiter, key: str, amount: int, now: int, request: str | None = None) -> Says:
        """Gives back, and answers as a peek of 1 after it."""
        place = ("refund", limiter.name, limiter.scope, key, request)
        if request is not None and (first := self._remembered(place, now)) is not None:
            assert isinstance(first, Says)
            return enforced(first, limiter)
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
        if actual < hold.estimate:
            give_back(view, name, hold.estimate, hold.estimate - actual)
        if actual > hold.estimate:
            charge(view, actual - hold.estimate)
        forget(view, name)
        until = min(hold.until, now + SETTLED_KNOWN)
        view.holds[name] = replace(hold, until=until, actual=actual)
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
        self.states.forget(limiter.at(key))
        return live

    def consume_all(self, charges: list[tuple[Limiter, str, int]], now: int, request: str | None = None) -> AllSays:
        """Charges all keys or none; one that is on trial denies no other, and is charged what it admits itself.

        Question: what does a repeated id answer if the charges come in another order? Answer: each key its own first
        decision, and who binds is found among them anew.

        Question: is a call remembered that passed and charged nothing, since all are on trial? Answer: yes, and a key
        that was denied is denied to a limiter that is not on trial.
        """
        places = frozenset((limiter.name, limiter.scope, key) for limiter, key, _ in charges)
        place = ("consume_all", places, request)
        if request is not None and (known := self._remembered(place, now)) is not None:
            assert isinstance(known, dict)
            return combined([enforced(known[limiter.name, limiter.scope, key], limiter) for limiter, key, _ in charges])
        views = [self.look(limiter, key, now) for limiter, key, _ in charges]
        alone = [
            self.says(limiter, view, cost, writes=cost > 0)
            for (limiter, _, cost), view in zip(charges, views, strict=True)
        ]
        passes = all(answer.allowed for answer in alone)
        answers = []
        for (limiter, key, cost), view, answer in zip(charges, views, alone, strict=True):
            if passes and cost and answer.retry_after == 0:
                charge(view, cost)
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
        """The first answer.

        Question: what if the clock went back by more than the longest memory that can be set, a day? Answer: it is
        remembered from now on.
        """
        until, answer = self.requests.get(place, (0, None))
        if until > now + LONGEST_MEMORY:
            until = now + REMEMBERED
            self.requests[place] = until, answer
        return answer if now < until else None


def enforced(first: Says, limiter: Limiter) -> Says:
    """What is remembered of a request, for the limiter that asks again.

    Question: what if that one is on trial and the first was not, or the other way round? Answer: whether a denial is
    enforced is up to who asks.
    """
    denies = first.retry_after != 0
    return replace(first, allowed=not denies or not limiter.enforce, would_deny=denies and not limiter.enforce)


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
