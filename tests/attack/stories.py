"""Stories for limiters: random ones, printed by their seed, that are told to the oracle and to a server."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from rules import ALGORITHMS, Policy, Rule, parse, written

START = 1_700_000_000_000_000
# No client goes back further.
EARLIEST = 100_000_000_000_000
LARGEST = 2**52
DAY = 86_400_000_000
CENTURY = 36_500 * DAY


@dataclass(frozen=True)
class Step:
    """One call. It comes `wait` microseconds after the one before, which may be negative; with `retry` the wait counts
    from when the last denial said that it would be over."""

    op: str
    by: int = 0
    key: str = "k"
    wait: int = 0
    retry: bool = False
    cost: int = 1
    ttl: int = 1_000
    returned: bool = False
    label: str = ""
    request: str | None = None
    charges: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True)
class By:
    """A limiter of a story."""

    name: str
    policy: str
    scope: str | None = None
    enforce: bool = True


@dataclass(frozen=True)
class Story:
    """What is told: limiters, and the calls of them."""

    limiters: tuple[By, ...]
    steps: tuple[Step, ...]
    about: str

    def without(self, steps: range) -> Story:
        """The story without some of its steps, the others at the times that they had."""
        left: list[Step] = []
        late = 0
        for place, step in enumerate(self.steps):
            if place in steps:
                late = 0 if step.retry else late + step.wait
                continue
            left.append(step if step.retry else replace(step, wait=step.wait + late))
            late = 0
        return replace(self, steps=tuple(left))


# Stories that the oracle and a server once did not agree about.
FOUND = (
    # A clock that goes back before the longest reservation, at the latest time: their sum is no exact number.
    Story(
        (By("main", "token-bucket 10/2592000000000ms;sliding-log 100/3153600000000ms"),),
        (
            Step("reserve", wait=LARGEST, ttl=CENTURY, label="h"),
            Step("consume", wait=-1),
            Step("settle", wait=1, cost=4, label="h"),
        ),
        "found",
    ),
    # Of two changes of a bucket's rate one is rounded to a microsecond, the other is not.
    Story(
        (By("main", "token-bucket 5/100000ms capacity 100"), By("main", "token-bucket 6/100000ms capacity 100")),
        (
            Step("consume", wait=1, cost=50),
            Step("consume", by=1, wait=752_548_463, cost=2),
            Step("consume", key="l", wait=1),
            Step("consume", by=1, key="l", wait=1, cost=34),
            Step("consume", by=1, key="l", wait=79_065_744, cost=50),
            Step("consume", by=1, key="l", cost=2),
        ),
        "found",
    ),
)


def story(seed: int) -> Story:
    """The story of a seed; below 0 those that were found."""
    if seed < 0:
        return FOUND[seed]
    chance = random.Random(seed)
    about = chance.choice(THEMES)
    return Teller(chance, about).tell()


THEMES = (
    "plain",
    "plain",
    "policies",
    "policies",
    "policies",
    "holds",
    "holds",
    "requests",
    "several",
    "clock",
    "large",
    "long",
)


class Teller:
    """Tells one story by chance."""

    def __init__(self, chance: random.Random, about: str) -> None:
        self.chance, self.about = chance, about
        self.labels: list[str] = []
        self.requests: list[str] = []
        self.asked: dict[str, tuple[tuple[int, str, int], ...]] = {}

    def tell(self) -> Story:
        """Limiters first, then calls."""
        chance = self.chance
        policies = self.policies()
        limiters = [
            By("main", written(policy), enforce=chance.random() > (0.3 if self.about == "several" else 0.06))
            for policy in policies
        ]
        if self.about in ("several", "requests") or chance.random() < 0.1:
            limiters += [By("other", written(self.policy()), enforce=chance.random() > 0.2)]
            limiters += [By("main", limiters[0].policy, scope="shop")]
        self.limiters = limiters
        self.periods = sorted({rule.period for by in limiters for rule in parse(by.policy)})
        self.limits = sorted({rule.capacity for by in limiters for rule in parse(by.policy)})
        steps: list[Step] = []
        current = 0
        for _ in range(chance.randint(8, 60)):
            if chance.random() < 0.3:
                current = chance.randrange(len(limiters))
            steps.append(self.step(current))
            if chance.random() < 0.12:
                cost = steps[-1].cost
                again = replace(steps[-1], op="consume", cost=cost, request=None, charges=(), retry=True)
                steps += [replace(again, wait=-1), replace(again, wait=1, retry=False)]
        return Story(tuple(limiters), tuple(steps), self.about)

    # Policies.

    def rule(self, algorithm: str | None = None) -> Rule:
        """A rule, small unless the story is about large ones."""
        chance = self.chance
        algorithm = algorithm or chance.choice(ALGORITHMS)
        if self.about == "large":
            limit = chance.choice(
                (LARGEST, LARGEST - 1, 2**40 + 1, 10**9 + 7, 999_999_937, 7, 1, chance.randint(1, LARGEST))
            )
            period = chance.choice((1_000, 7_000, 1_000_000, 60_000_000, DAY, 7 * DAY, CENTURY // 3, CENTURY))
        elif self.about == "long":
            limit = chance.choice((1, 2, 3, 10, 100, 1_000_003))
            period = chance.choice(
                (365 * DAY, 10_000 * DAY, 19_000 * DAY, 19_700 * DAY, 20_000 * DAY, 30_000 * DAY, CENTURY)
            )
        else:
            limit = chance.choice((1, 1, 2, 2, 3, 5, 7, 10, 12, 20, 100, 1000))
            period = chance.choice(
                (
                    1_000,
                    3_000,
                    7_000,
                    10_000,
                    1_000_000,
                    3_000_000,
                    10_000_000,
                    60_000_000,
                    100_000_000,
                    3_600_000_000,
                    DAY,
                )
            )
        capacity = limit
        if algorithm == "token-bucket" and chance.random() < 0.6:
            capacity = chance.choice((1, 2, 3, 5, 9, 10, 100, limit, max(1, limit // 2), min(LARGEST, limit * 3)))
        return Rule(algorithm, limit, period, capacity)

    def policy(self) -> Policy:
        """One rule mostly, sometimes several."""
        chance = self.chance
        count = chance.choice((1, 1, 1, 2, 2, 3, 4)) if chance.random() < 0.97 else 10
        if chance.random() < 0.3:
            algorithm = chance.choice(ALGORITHMS)
            return tuple(self.rule(algorithm) for _ in range(count))
        return tuple(self.rule() for _ in range(count))

    def policies(self) -> list[Policy]:
        """One policy, or one and what became of it."""
        found = [self.policy()]
        changes = self.chance.randint(1, 3) if self.about == "policies" else int(self.chance.random() < 0.3)
        for _ in range(changes):
            found.append(self.changed(self.chance.choice(found)))
        return found

    def changed(self, policy: Policy) -> Policy:
        """A policy as somebody may change it."""
        chance, rules = self.chance, list(policy)
        place = chance.randrange(len(rules))
        rule = rules[place]
        how = chance.choice(
            ("limit", "period", "same-fraction", "add", "add", "remove", "reorder", "algorithm", "capacity")
        )
        if how == "limit":
            limit = max(1, chance.choice((rule.limit * 2, rule.limit // 2, rule.limit + 1, rule.limit * 10)))
            limit = min(limit, LARGEST)
            rules[place] = replace(rule, limit=limit, capacity=limit if rule.capacity == rule.limit else rule.capacity)
        elif how == "period":
            period = chance.choice(
                (rule.period * 2, rule.period // 2, rule.period * 10, rule.period // 10, rule.period * 60)
            )
            rules[place] = replace(rule, period=min(CENTURY, max(1_000, period // 1_000 * 1_000)))
        elif how == "same-fraction" and rule.algorithm == "token-bucket":
            times = chance.choice((2, 3, 60))
            if rule.period * times <= CENTURY and rule.limit * times <= LARGEST:
                rules[place] = replace(rule, period=rule.period * times, limit=rule.limit * times)
        elif how == "same-fraction":
            rules.insert(place, replace(rule, limit=rule.limit + 1, capacity=rule.limit + 1))
        elif how == "add":
            more = self.rule() if chance.random() < 0.6 else replace(self.rule(rule.algorithm), period=rule.period)
            rules.insert(chance.randint(0, len(rules)), more)
        elif how == "remove" and len(rules) > 1:
            del rules[place]
        elif how == "reorder":
            chance.shuffle(rules)
        elif how == "algorithm":
            algorithm = chance.choice(ALGORITHMS)
            rules[place] = Rule(algorithm, rule.limit, rule.period, rule.limit)
        elif rule.algorithm == "token-bucket":
            rules[place] = replace(
                rule,
                capacity=min(
                    LARGEST, max(1, chance.choice((rule.capacity * 2, rule.capacity // 2, rule.capacity + 1)))
                ),
            )
        return tuple(rules[:10])

    # Calls.

    def wait(self) -> int:
        """How long until the next call: nothing, a moment, or what matters to a period."""
        chance = self.chance
        period = chance.choice(self.periods)
        back = chance.random() < (0.25 if self.about == "clock" else 0.015)
        if back:
            return -chance.choice(
                (1, 2, period // 3, period - 1, period, period + 1, 2 * period, 3_600_000_000, 30 * DAY)
            )
        return chance.choice(
            (
                0,
                0,
                0,
                1,
                1,
                2,
                period // 10,
                period // 7,
                period // 3,
                period // 2,
                period - 1,
                period,
                period + 1,
                chance.randint(0, period),
            )
        )

    def cost(self) -> int:
        """A cost: small ones, and what is about a limit."""
        chance = self.chance
        limit = chance.choice(self.limits)
        return min(
            LARGEST, chance.choice((1, 1, 1, 1, 2, 3, limit, limit - 1, limit + 1, limit // 2, limit // 3 + 1, 0))
        )

    def step(self, by: int) -> Step:
        """One call."""
        chance = self.chance
        likely: dict[str, int] = {
            "consume": 50,
            "peek": 12,
            "consume_up_to": 8,
            "refund": 8,
            "block": 2,
            "reset": 1,
            "reserve": 5,
            "settle": 5,
            "consume_all": 2,
        }
        if self.about == "holds":
            likely |= {"reserve": 25, "settle": 25, "cancel": 8, "consume": 25}
        if self.about == "several":
            likely |= {"consume_all": 60}
        if self.about == "requests":
            likely |= {"consume_all": 20}
        op = chance.choices(list(likely), list(likely.values()))[0]
        key = chance.choice(("k", "k", "k", "k", "l"))
        step = Step(op, by, key, self.wait(), False, self.cost())
        if op in ("refund", "consume_up_to", "reserve"):
            step = replace(step, cost=max(1, step.cost))
        if op == "block":
            step = replace(step, ttl=chance.choice((1_000, 10_000, 1_000_000, 60_000_000, CENTURY)))
        if op == "reserve":
            ttls = (1_000, 10_000, 1_000_000, 10_000_000, 30_000_000, 200_000_000, *self.periods)
            label = f"h{len(self.labels)}"
            self.labels.append(label)
            step = replace(step, ttl=chance.choice(ttls), returned=chance.random() < 0.5, label=label)
        if op in ("settle", "cancel"):
            step = replace(step, label=chance.choice(self.labels[-4:] or ["none"]))
        if op in ("consume", "refund", "consume_all") and chance.random() < (0.6 if self.about == "requests" else 0.05):
            step = replace(step, request=self.request())
        if op == "consume_all":
            step = replace(step, charges=self.charges(step.request))
        return step

    def request(self) -> str:
        """A new request id, or one that was there before."""
        if self.requests and self.chance.random() < 0.5:
            return self.chance.choice(self.requests[-4:])
        self.requests.append(f"r{len(self.requests)}")
        return self.requests[-1]

    def charges(self, request: str | None) -> tuple[tuple[int, str, int], ...]:
        """Keys to charge together, none twice for one limiter's name and scope. A request is always about the same
        keys, in any order and by any limiter of their names."""
        if request in self.asked:
            again = [(self.like(by), key, max(1, self.cost())) for by, key, _ in self.asked[request]]
            self.chance.shuffle(again)
            return tuple(again)
        found: dict[tuple[str, str | None, str], tuple[int, str, int]] = {}
        for _ in range(self.chance.randint(1, 5)):
            by, key = self.chance.randrange(len(self.limiters)), self.chance.choice(("k", "l", "m"))
            limiter = self.limiters[by]
            found.setdefault((limiter.name, limiter.scope, key), (by, key, max(1, self.cost())))
        charges = list(found.values())
        self.chance.shuffle(charges)
        if request is not None:
            self.asked[request] = tuple(charges)
        return tuple(charges)

    def like(self, by: int) -> int:
        """A limiter of the same name and scope."""
        name, scope = self.limiters[by].name, self.limiters[by].scope
        places = [place for place, other in enumerate(self.limiters) if (other.name, other.scope) == (name, scope)]
        return self.chance.choice(places)
