"""Bad days of locks."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any

from adapter import Adapter, Answer, SilentError
from clock_steps import ClockSteps
from gate import Gate
from limiter_days import COMMANDS, HOUR, longest, restarted
from proxy import Faults, Proxy
from stage import Cell, Stage, lasting, span, until

# The lease of a lock.
LEASE = 2.0
# That of one that nobody is to outlive.
LONG = 30.0
# What a call may take whose reply will be late, how late requests are, and the lease that is asked for then.
PATIENCE, LATE, GHOST = 0.5, 1.2, 5.0
TRIALS = 3


def acquire(adapter: Adapter, name: str = "l", seconds: float = LEASE) -> Answer:
    """Asks once for a lock."""
    return adapter.ask("acquire", name=name, seconds=seconds)


def locked_for(stage: Stage, adapter: Adapter, due: float, name: str = "l") -> Cell:
    """How long a lock cannot be had from now."""
    return lasting(stage, "locked_s", *until(adapter, "acquire", name=name, seconds=LEASE), due=due)


def crash(command: Sequence[str]) -> Cell:
    """The client is killed after any of the commands by which it acquires: locked for how long at worst."""
    cells = []
    with Stage(command) as stage:
        looker = stage.adapter()
        acquire(looker, "other")
        for number in range(1, COMMANDS):
            with Gate(stage.server.port) as gate:
                adapter = stage.adapter(gate.port)
                acquire(adapter, f"mine-{number}")
                gate.hold(number)
                adapter.begin("acquire", name=f"l{number}", seconds=LEASE)
                while not (held := gate.held.wait(0.002)) and not adapter.answered():
                    pass
                adapter.kill()
            if not held:
                break
            cell = locked_for(stage, looker, LEASE, f"l{number}")
            cell.figures["after_command"] = number
            cells.append(cell)
            if not cell.good:
                break
    return longest(cells, "locked_s")


def ghost(command: Sequence[str]) -> Cell:
    """A request arrives after its caller gave it up: for how long after that nobody can have the lock."""
    with Stage(command) as stage, Proxy(stage.server.port) as proxy:
        adapter, other = stage.adapter(proxy.port, timeout=PATIENCE), stage.adapter()
        for each in (adapter, other):
            acquire(each, f"warm-{each is other}")
        proxy.faults = Faults(late=LATE)
        try:
            answer = acquire(adapter, seconds=GHOST)
        except SilentError:
            return Cell("waits on", False, {})
        told = time.monotonic()
        proxy.faults = Faults()
        if answer.get("ok"):
            return Cell("-", None, {"answer": answer})
        # What was sent has arrived by then.
        time.sleep(LATE)
        if acquire(other).get("ok"):
            return Cell(span(0), True, {"locked_s": 0.0, "told": answer})
        cell = locked_for(stage, other, 0)
        if cell.figures["locked_s"] is not None:
            locked = time.monotonic() - told
            cell = Cell(span(locked), False, {"locked_s": locked})
    cell.figures["told"] = answer
    return cell


def stopped(command: Sequence[str]) -> tuple[Cell, Cell, Cell]:
    """A holder stands still past its lease, and another acquires: how often the holder still takes itself for one, how
    it learns of it, and whether it releases what is the other's."""
    overlaps, freed, learns = 0, 0, "never"
    asked = True
    for _ in range(TRIALS):
        with Stage(command) as stage:
            holder, other, third = (stage.adapter() for _ in range(3))
            acquire(holder)
            for each in (other, third):
                acquire(each, "warm")
            holder.signal(signal.SIGSTOP)
            until(other, "acquire", name="l", seconds=LONG)
            holder.signal(signal.SIGCONT)
            now = holder.ask("held", name="l")
            time.sleep(0.3)
            later = holder.ask("held", name="l")
            overlaps += now.get("ok") is True
            asked = asked and now.get("ok") is not None
            gone = holder.ask("release", name="l")
            freed += acquire(third).get("ok") is True
            if later.get("told"):
                learns = f"notified: {later['told']}"
            elif later.get("ok") is False:
                learns = "when it asks"
            elif gone.get("ok") is not True:
                learns = "at its release"
    figures = {"overlaps": overlaps, "of": TRIALS}
    first = Cell(f"{overlaps} of {TRIALS}", overlaps == 0, figures) if asked else Cell("cannot be asked", None, {})
    return (
        first,
        Cell(learns, learns not in ("never", "at its release"), {"learns": learns}),
        Cell("the other's, too" if freed else "its own", freed == 0, {"freed": freed, "of": TRIALS}),
    )


def tokens(command: Sequence[str]) -> Cell:
    """The server loses everything: how fencing tokens go on."""
    with Stage(command) as stage:
        adapter = stage.adapter()
        given: list[Any] = []
        for _ in range(3):
            given.append(acquire(adapter).get("token"))
            adapter.ask("release", name="l")
        stage.server.command("FLUSHALL")
        given.append(acquire(adapter).get("token"))
    if None in given:
        return Cell("no tokens", None, {})
    grows = given == sorted(set(given))
    return Cell("grow" if grows else "go back", grows, {"tokens": given})


def clock_back(command: Sequence[str]) -> Cell:
    """A holder dies, and the server's clock goes back an hour: locked for how long."""
    with ClockSteps() as clock, Stage(command, clock.prefix) as stage:
        holder, other = stage.adapter(), stage.adapter()
        acquire(other, "warm")
        acquire(holder)
        holder.kill()
        clock.step(-HOUR * 1_000_000)
        return locked_for(stage, other, LEASE)


def script_flush(command: Sequence[str]) -> Cell:
    """The server forgets its scripts before each of ten acquisitions and releases: how many fail."""
    errors = []
    with Stage(command) as stage:
        adapter = stage.adapter()
        acquire(adapter, "warm")
        for number in range(10):
            name = f"l{number}"
            for do in ({"do": "acquire", "seconds": LEASE}, {"do": "release"}):
                stage.server.command("SCRIPT", "FLUSH")
                answer = adapter.ask(name=name, **do)
                errors += [] if answer.get("ok") else [answer.get("error")]
    return Cell(f"{len(errors)} of 20 fail", not errors, {"errors": len(errors), "first": errors[:1]})


def restart(command: Sequence[str]) -> Cell:
    """The server is killed and is away for a second: pairs that fail once it is back, and when the first succeeds."""

    def pair(adapter: Adapter) -> bool:
        got = adapter.ask("acquire", name="l", seconds=LEASE)
        return bool(got.get("ok") and "error" not in adapter.ask("release", name="l"))

    return restarted(command, pair)
