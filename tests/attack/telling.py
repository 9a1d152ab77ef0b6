"""Tells a story to the oracle and to a server, call by call, and compares every field of every answer."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import Any

import quotalock
from oracle import Limiter, Oracle
from quotalock import testing
from rules import AllSays, RuleSays, Says, parse
from stories import LARGEST, START, By, Step, Story


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
        self.oracle = Oracle()
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
        self.at(min(max(1, start + step.wait), LARGEST))
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
        said = self.oracle.consume_all(
            [(self.model[by], key, cost) for by, key, cost in step.charges], self.now, request
        )
        return self.all_differ(said, real)

    def at(self, now: int) -> None:
        """Sets the time. A request that is over may be forgotten at any moment, so ids change when the clock goes back
        behind the end of one."""
        if now < self.latest and any(until <= self.latest for until, _ in self.oracle.requests.values()):
            self.round += 1
            self.oracle.requests.clear()
        self.now, self.latest = now, max(self.latest, now)
        testing.set_time(self.teller.client, now)

    def certain(self, by: int, key: str) -> None:
        """A state that was over may be gone: nobody can say what a clock that goes back behind its end finds."""
        if self.oracle.unsure(self.model[by], key, self.now):
            self.real[by].reset(key)
            self.oracle.reset(self.model[by], key, self.now)
            self.teller.seen["unsure"] += 1

    def request(self, request: str | None) -> str | None:
        """The id as it is now."""
        return None if request is None else f"{request}.{self.round}"

    def perform(self, step: Step) -> str:
        """Asks both."""
        real, model, now, key = self.real[step.by], self.model[step.by], self.now, step.key
        request = self.request(step.request)
        if step.op == "reset":
            said, existed = self.oracle.reset(model, key, now), real.reset(key)
            return "reset: there was something" if said and not existed else ""
        if step.op in ("settle", "cancel"):
            actual = step.cost if step.op == "settle" else 0
            told = real.reservation(key, self.ids.get(step.label, "0" * 32)).settle(actual)
            settled = self.oracle.settle(model, key, step.label, actual, now)
            return "" if told is settled else f"settled: the server says {told}, the oracle {settled}"
        if step.op == "reserve":
            how = "returned" if step.returned else "spent"
            reservation = real.reserve(key, step.cost, step.ttl / 1e6, how)
            self.ids[step.label] = reservation.id
            answer = reservation.decision
            says = self.oracle.reserve(model, key, step.cost, step.ttl, step.returned, step.label, now)
        elif step.op == "consume":
            answer, says = (
                real.consume(key, step.cost, request),
                self.oracle.consume(model, key, step.cost, now, request),
            )
        elif step.op == "peek":
            answer, says = real.peek(key, step.cost), self.oracle.peek(model, key, step.cost, now)
        elif step.op == "consume_up_to":
            answer, says = real.consume_up_to(key, step.cost), self.oracle.consume_up_to(model, key, step.cost, now)
        elif step.op == "refund":
            answer, says = real.refund(key, step.cost, request), self.oracle.refund(model, key, step.cost, now, request)
        else:
            answer, says = real.block(key, step.ttl / 1e6), self.oracle.block(model, key, step.ttl, now)
        if says.retry_after:
            self.denied = now + says.retry_after
        return self.differ(says, answer)

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
