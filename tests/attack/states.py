"""What is known of each key, what a call finds of it, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from counts import Count, alike
from flows import SlidingLog, TokenBucket
from rules import Policy
from windows import CalendarWindow, FixedWindow, SlidingWindow

COUNTS: dict[str, type[Count]] = {
    "fixed-window": FixedWindow,
    "calendar-window": CalendarWindow,
    "sliding-window": SlidingWindow,
    "sliding-log": SlidingLog,
    "token-bucket": TokenBucket,
}
CARRIED = 10

Place = tuple[str, str | None, str]
"""A limiter's name and scope, and a key."""


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
    """What is known of a key: the counts of the policy that wrote last, those of other policies, holds and a block.

    `over` is when each of these is, `latest` when it was last asked for.
    """

    counts: list[Count] = field(default_factory=list)
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


class States:
    """Every key of one Redis. `more` is how a bucket's new time is rounded, `rounded` whether one was."""

    def __init__(self) -> None:
        self.more, self.rounded = 0, False
        self.known: dict[Place, State] = {}
        self.foreign: set[Place] = set()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, States) and self.known == other.known and self.foreign == other.foreign

    def plant(self, place: Place) -> None:
        """Somebody else's value stands at the key now: it is nothing, and the first call that writes replaces it."""
        self.known.pop(place, None)
        self.foreign.add(place)

    def forget(self, place: Place) -> None:
        """Nothing stands at the key."""
        self.known.pop(place, None)
        self.foreign.discard(place)

    def look(self, place: Place, policy: Policy, now: int, writes: bool) -> View:
        """What a call of a policy finds. The clock may have gone back behind what is stored, whoever counted it."""
        state = self.known.get(place, State())
        state.latest = max(state.latest, now)
        counts = [count.copied() for count in state.counts]
        for known in counts:
            known.emptied = min(known.emptied, now)
        logged = any(rule.algorithm == "sliding-log" for rule in policy)
        stepped = [
            count.late(now) if isinstance(count, SlidingLog) and not logged else count.stepped(now) for count in counts
        ]
        moved = any(stepped)
        mine, others = matched(counts, policy, now)
        found = []
        for rule in policy:
            count = mine.pop(0)
            count = COUNTS[rule.algorithm](rule) if count is None else count
            self.rounded |= isinstance(count, TokenBucket) and not alike(count.rule, rule)
            found.append(count.seen(now, rule, writes, self.more))
        carried = [counts[other] for other in others if counts[other].kept(now)]
        for count in carried:
            if logged and isinstance(count, SlidingLog):
                count.settle(now)
                count.shorten()
        moved = moved or any(count.moved for count in found)
        view = View(now, found, carried, dict(state.holds), state.block, moved)
        if place in self.foreign:
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

        Question: and to a rule that the policy of that call has not? Answer: the same, at the next call of that rule.
        """
        for name, hold in list(view.holds.items()):
            if hold.start > view.now:
                hold = replace(hold, start=view.now, until=view.now + hold.until - hold.start)
                view.holds[name], view.moved = hold, True
            if view.now >= hold.until:
                if hold.returned and hold.actual is None:
                    give_back(view, name, hold.estimate, hold.estimate)
                forget(view, name)
                del view.holds[name]
                view.moved = True

    def keep(self, place: Place, view: View) -> None:
        """Writes what a call leaves. What others count is kept for them, ten of them at most: those that end last."""
        self.foreign.discard(place)
        carried = list(view.carried)
        while len(carried) > CARRIED:
            carried.remove(min(carried, key=lambda count: count.ended()))
        for count in view.counts:
            count.expires = None
            if isinstance(count, SlidingLog):
                count.asked = count.last
        logs = [count for count in [*view.counts, *carried] if isinstance(count, SlidingLog)]
        for log in logs:
            log.trim(min(other.gone for other in logs))
        ends = [count.over() for count in [*view.counts, *carried]]
        ends += [hold.until for hold in view.holds.values()] + [view.block[0] if view.block else 0]
        if max(ends) <= view.now:
            self.known.pop(place, None)
        else:
            counts = [*view.counts, *carried]
            ends += [count.ended() + count.rule.period for count in carried]
            self.known[place] = State(counts, view.holds, view.block, ends, view.now)

    def unsure(self, place: Place, policy: Policy, now: int) -> bool:
        """Whether the guides say nothing of what a call finds, which the stories then leave out.

        Question: what does a clock that goes back find of what was over before? Answer: it may be gone or not.

        Question: what if the policy changes as the clock goes back? Answer: a bucket may be emptier by a microsecond.

        Question: what does a reservation give back to a sliding window whose clock went back behind the reservation, if
        the window had moved on? Answer: as if it had been charged now, so maybe what others took.

        Question: what does a log find again if the clock goes back when something had left one of its windows? Answer:
        it may be gone or not, as what was refunded meanwhile.

        Question: is what is over forgotten when another policy is denied? Answer: only while there are reservations.
        """
        state = self.known.get(place)
        if state is None:
            return False
        sliding = any(isinstance(count, SlidingWindow) for count in state.counts)
        strange = any(count.rule not in policy for count in state.counts)
        return (
            any(now < over <= state.latest for over in state.over)
            or (strange and any(count.ahead(now) for count in state.counts))
            or (sliding and any(hold.start > now for hold in state.holds.values()))
            or (now < state.latest and any(isinstance(count, SlidingLog) and count.gone > 0 for count in state.counts))
            or (bool(state.holds) and strange and any(count.over() <= now for count in state.counts))
        )


def charge(view: View, amount: int, hold: str | None = None) -> None:
    """Charges every rule of a call; what its log has, the logs of other policies have too."""
    for count in view.counts:
        count.charge(view.now, amount, hold)
    if any(isinstance(count, SlidingLog) for count in view.counts):
        for count in view.carried:
            if isinstance(count, SlidingLog):
                count.charge(view.now, amount)


def give_back(view: View, name: str, estimate: int, amount: int) -> None:
    """Gives back to the rules of a call now, and to others when they are next asked."""
    for count in view.counts:
        count.give_back(view.now, name, estimate, amount)
    for count in view.carried:
        count.owe(name, estimate, amount)


def forget(view: View, name: str) -> None:
    """A reservation is over; a rule that is owed something still has to know what."""
    for count in view.counts:
        count.forget(name)
    for count in view.carried:
        if all(name != hold for hold, _, _ in count.owed):
            count.forget(name)


def matched(counts: list[Count], policy: Policy, now: int) -> tuple[list[Count | None], list[int]]:
    """What each rule begins with, and the places of what is kept for other policies.

    A rule is itself, with all that its text says; rules that are alike share a count. A new rule begins with what
    another of its algorithm counts that is nobody's here, which stays for the other, and is given to no other rule
    after that. A new log begins with what the log with the longest memory counts.
    """
    mine: dict[int, int] = {}
    for place, rule in enumerate(policy):
        named = [other for other, count in enumerate(counts) if count.rule == rule]
        found = named + [other for other, count in enumerate(counts) if alike(count.rule, rule)]
        if found:
            mine[place] = found[0]
    others = [other for other, count in enumerate(counts) if not any(alike(count.rule, rule) for rule in policy)]
    for place, rule in enumerate(policy):
        if place in mine or rule.algorithm == "sliding-log":
            continue
        for other in others:
            count = counts[other]
            if count.rule.algorithm == rule.algorithm and count.over() > now and count.begun() and not count.given:
                mine[place], count.given = other, True
                break
    begins: list[Count | None] = [counts[mine[place]] if place in mine else None for place in range(len(policy))]
    logs = [count for count in counts if isinstance(count, SlidingLog)]
    for place, rule in enumerate(policy):
        if logs and begins[place] is None and rule.algorithm == "sliding-log":
            begins[place] = min(logs, key=lambda log: log.gone).beside(rule)
    return begins, others
