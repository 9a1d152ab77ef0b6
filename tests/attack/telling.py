"""Tells a story to the oracle and to a server, call by call, and compares every field of every answer."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import quotalock
from oracle import Limiter, Oracle
from quotalock import testing
from rules import AllSays, RuleSays, Says, parse
from stories import EARLIEST, LARGEST, START, By, Step, Story


@dataclass(frozen=True)
class Difference:
    """Where a server and the oracle do not agree."""

    story: Story
    step: int
    what: str


class Teller:
    """Tells stories to one server."""

    def __init__(self, server: str, url: str, prefix: str) -> None:
        self.client = quotalock.Client(url, prefix=prefix, timeout=30.0)
        self.source = "memory" if server == "memory" else "redis"
        self.names = (f"s{number}" for number in itertools.count())
        self.seen: Counter[str] = Counter()

    def tell(self, story: Story) -> Difference | None:
        """The first difference; None if there is none, or a policy was refused."""
        telling = Telling(self, story, next(self.names))
        try:
            telling.limiters()
        except quotalock.InvalidPolicy:
            self.seen["refused policies"] += 1
            return None
        for place, step in enumerate(story.steps):
            what = telling.step(step)
            self.seen["steps"] += 1
            self.seen[f"about {story.about}"] += 1
            if what:
                return Difference(story, place, what)
        return None

    def shrunk(self, difference: Difference) -> Difference:
        """A shorter story that differs too."""
        story = replace(difference.story, steps=difference.story.steps[: difference.step + 1])
        best = replace(difference, story=story)
        size = max(1, len(story.steps) // 2)
        while size:
            place = 0
            while place < len(best.story.steps):
                shorter = self.tell(best.story.without(range(place, place + size)))
                if shorter:
                    best = replace(shorter, story=replace(shorter.story, steps=shorter.story.steps[: shorter.step + 1]))
                else:
                    place += size
            size //= 2
        return best


class Telling:
    """One story on its way."""

    def __init__(self, teller: Teller, story: Story, name: str) -> None:
        self.teller, self.story, self.name = teller, story, name
        rates = {
            Fraction(rule.limit, rule.period)
            for by in story.limiters
            for rule in parse(by.policy)
            if rule.algorithm == "token-bucket"
        }
        # Those that agree with every answer so far: where the guides leave several answers open, there are as many.
        self.oracles = [Oracle()]
        self.roundings = (0, 1, -1, -2) if len(rates) > 1 else (0,)
        self.now = START
        self.latest = START
        self.denied: int | None = None
        self.round = 0
        self.ids: dict[str, str] = {}
        self.real: list[Any] = []
        self.model: list[Limiter] = []

    def limiters(self) -> None:
        """Makes the limiters, for the server and for the oracle."""
        for by in self.story.limiters:
            self.real.append(self._real(by))
            self.model.append(Limiter(by.name, parse(by.policy), by.scope, by.enforce))

    def _real(self, by: By) -> Any:
        return self.teller.client.limiter(f"{self.name}-{by.name}", by.policy, by.scope, by.enforce)

    def step(self, step: Step) -> str:
        """Performs one step; what differs, or nothing."""
        start = self.denied if step.retry and self.denied is not None else self.now
        self.at(min(max(EARLIEST, start + step.wait), LARGEST))
        if step.op != "consume_all":
            self.certain(step.by, step.key)
            return self.perform(step)
        for by, key, _ in step.charges:
            self.certain(by, key)
        request = self.request(step.request)
        try:
            real = self.teller.client.consume_all(
                [(self.real[by], key, cost) for by, key, cost in step.charges], request
            )
        except quotalock.InvalidArgument as error:
            return "" if "request" in str(error) else str(error)
        charges = [(self.model[by], key, cost) for by, key, cost in step.charges]
        return self.agreed(lambda oracle: self.all_differ(oracle.consume_all(charges, self.now, request), real))

    def agreed(self, differs: Callable[[Oracle], str]) -> str:
        """What differs from all oracles; those that the server contradicts are asked no more.

        Whenever a bucket gets another rate, each way to round it is an oracle of its own.
        """
        agree: list[Oracle] = []
        differences: list[str] = []
        for oracle in self.oracles:
            for tried in oracle.rounding(self.roundings):
                if what := differs(tried):
                    differences.append(what)
                elif tried not in agree:
                    agree.append(tried)
                if not tried.states.rounded:
                    break
        self.oracles = agree or self.oracles
        return "" if agree else differences[0]

    def at(self, now: int) -> None:
        """Sets the time. A request that is over may be forgotten at any moment, so ids change when the clock goes back
        behind the end of one."""
        known = [until for oracle in self.oracles for until, _ in oracle.requests.values()]
        if now < self.latest and any(until <= self.latest for until in known):
            self.round += 1
            for oracle in self.oracles:
                oracle.requests.clear()
        self.now, self.latest = now, max(self.latest, now)
        testing.set_time(self.teller.client, now)

    def certain(self, by: int, key: str) -> None:
        """A state that was over may be gone: nobody can say what a clock that goes back behind its end finds."""
        if any(oracle.unsure(self.model[by], key, self.now) for oracle in self.oracles):
            self.real[by].reset(key)
            for oracle in self.oracles:
                oracle.reset(self.model[by], key, self.now)
            self.teller.seen["unsure"] += 1

    def request(self, request: str | None) -> str | None:
        """The id as it is now."""
        return None if request is None else f"{request}.{self.round}"

    def perform(self, step: Step) -> str:
        """Asks the server, then what the oracles say."""
        real, key = self.real[step.by], step.key
        if step.op == "reset":
            existed = real.reset(key)
            return self.agreed(lambda oracle: self.reset(oracle, step, existed))
        if step.op in ("settle", "cancel"):
            actual = step.cost if step.op == "settle" else 0
            told = real.reservation(key, self.ids.get(step.label, "0" * 32)).settle(actual)
            return self.agreed(lambda oracle: self.settle(oracle, step, actual, told))
        answer = self.answer(step, real)
        return self.agreed(lambda oracle: self.differ(self.says(oracle, step), answer))

    def reset(self, oracle: Oracle, step: Step, existed: bool) -> str:
        """Whether there was something; of what is over nobody can say."""
        said = oracle.reset(self.model[step.by], step.key, self.now)
        return "reset: there was something" if said and not existed else ""

    def settle(self, oracle: Oracle, step: Step, actual: int, told: bool) -> str:
        """Whether a reservation could be settled."""
        settled = oracle.settle(self.model[step.by], step.key, step.label, actual, self.now)
        return "" if told is settled else f"settled: the server says {told}, the oracle {settled}"

    def answer(self, step: Step, real: Any) -> Any:
        """The server's decision."""
        key, request = step.key, self.request(step.request)
        if step.op == "reserve":
            reservation = real.reserve(key, step.cost, step.ttl / 1e6, "returned" if step.returned else "spent")
            self.ids[step.label] = reservation.id
            return reservation.decision
        if step.op == "block":
            return real.block(key, step.ttl / 1e6)
        if step.op in ("peek", "consume_up_to"):
            return getattr(real, step.op)(key, step.cost)
        return getattr(real, step.op)(key, step.cost, request)

    def says(self, oracle: Oracle, step: Step) -> Says:
        """An oracle's decision."""
        model, now, key, request = self.model[step.by], self.now, step.key, self.request(step.request)
        if step.op == "reserve":
            says = oracle.reserve(model, key, step.cost, step.ttl, step.returned, step.label, now)
        elif step.op == "consume":
            says = oracle.consume(model, key, step.cost, now, request)
        elif step.op == "peek":
            says = oracle.peek(model, key, step.cost, now)
        elif step.op == "consume_up_to":
            says = oracle.consume_up_to(model, key, step.cost, now)
        elif step.op == "refund":
            says = oracle.refund(model, key, step.cost, now, request)
        else:
            says = oracle.block(model, key, step.ttl, now)
        if says.retry_after:
            self.denied = now + says.retry_after
        return says

    def differ(self, says: Says, answer: Any) -> str:
        """The fields of a decision that differ."""
        found = compared(says, answer)
        for place, (rule, real) in enumerate(zip(says.rules, answer.rules, strict=False)):
            found += [f"rules[{place}].{what}" for what in compared(rule, real)]
        if len(says.rules) != len(answer.rules):
            found.append("rules: not as many")
        if answer.source != self.teller.source:
            found.append(f"source: {answer.source}")
        if bool(answer) is not answer.allowed:
            found.append("bool")
        return "; ".join(found)

    def all_differ(self, says: AllSays, answer: Any) -> str:
        """The fields of a decision about several keys that differ."""
        found = compared(says, answer)
        if len(says.decisions) != len(answer.decisions):
            found.append("decisions: not as many")
        for place, (one, real) in enumerate(zip(says.decisions, answer.decisions, strict=False)):
            if what := self.differ(one, real):
                found.append(f"decisions[{place}].({what})")
        return "; ".join(found)


def compared(says: Says | AllSays | RuleSays, answer: Any) -> list[str]:
    """The fields of two answers that differ; a server's durations are in seconds."""
    found = []
    for field in fields(says):
        if field.name in ("rules", "decisions"):
            continue
        said, told = getattr(says, field.name), getattr(answer, field.name)
        if field.name in ("retry_after", "reset_after") and said is not None:
            said = said / 1e6
        if said != told:
            found.append(f"{field.name}: the server says {told}, the oracle {said}")
    return found


def shown(difference: Difference) -> str:
    """A difference for people."""
    story = difference.story
    lines = [
        f"limiter {place}: {by.name} {by.policy}"
        + (f" scope {by.scope}" if by.scope else "")
        + ("" if by.enforce else " on trial")
        for place, by in enumerate(story.limiters)
    ]
    default = Step("consume")
    for step in story.steps:
        told = " ".join(
            f"{field.name}={getattr(step, field.name)}"
            for field in fields(step)
            if field.name not in ("op", "by") and getattr(step, field.name) != getattr(default, field.name)
        )
        lines.append(f"  {step.op} by {step.by} {told}")
    return "\n".join([*lines, f"  -> {difference.what}"])
