"""Bad days of limiters. Each admits `LIMIT` in `WINDOW` seconds: nobody may be denied for longer than that."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Sequence

from adapter import Adapter, SilentError
from clock_steps import ClockSteps
from gate import Gate
from proxy import Faults, Proxy
from stage import CAP, LIMIT, SLACK, WINDOW, Cell, Stage, admitted, consume, denied_for, lasting

HOUR = 3600
# No library takes more commands for one call.
COMMANDS = 12
# Enough calls for lost replies, with a limit that they do not reach, in a window that does not end.
CALLS, PLENTY, DAY = 100, 200, 86_400
# Of these the worst is told, and a process has so long to find a server that is back.
RESTARTS, BACK_WITHIN = 3, 10.0


def ttl_lost(command: Sequence[str]) -> Cell:
    """The limit is used up, and its keys lose their TTL: denied for how long."""
    with Stage(command) as stage:
        adapter = stage.adapter()
        admitted(adapter, "k")
        for key in stage.names():
            stage.server.command("PERSIST", key)
        return lasting(stage, "denied_s", *denied_for(adapter, "k"), due=WINDOW)


def leftover(command: Sequence[str]) -> Cell:
    """Where the limiter keeps its number stands a -1 without a TTL: how many are admitted at once, and how long it
    denies after that."""
    with Stage(command) as stage:
        adapter = stage.adapter()
        consume(adapter, "k")
        texts = [key for key in stage.names() if stage.server.command("TYPE", key) == "string"]
        if not texts:
            return Cell("-", None)
        for key in texts:
            stage.server.command("SET", key, "-1")
        count = admitted(adapter, "k")
        return too_many(lasting(stage, "denied_s", *denied_for(adapter, "k"), due=WINDOW), count - LIMIT)


def too_many(cell: Cell, count: int) -> Cell:
    """Adds to a cell how many were admitted beyond the limit."""
    cell.figures["too_many"] = max(0, count)
    if count > 0:
        cell.text, cell.good = f"{cell.text}, {count} too many", False
    return cell


def crash(command: Sequence[str]) -> Cell:
    """The client is killed after any of the commands of a call: denied for how long at worst."""
    return interrupted(command, lambda adapter, gate: adapter.kill())


def pause(command: Sequence[str]) -> Cell:
    """The client stands still after any of the commands of a call until the window is over: denied for how long at
    worst."""

    def stopped(adapter: Adapter, gate: Gate) -> None:
        adapter.signal(signal.SIGSTOP)
        gate.open()
        time.sleep(WINDOW + 0.3)
        adapter.signal(signal.SIGCONT)
        adapter.end()
        adapter.kill()

    return interrupted(command, stopped)


def interrupted(command: Sequence[str], how: Callable[[Adapter, Gate], None]) -> Cell:
    """Interrupts the call that begins a window, and the one after it, after each of their commands."""
    cells = []
    with Stage(command) as stage:
        looker = stage.adapter()
        consume(looker, "other")
        for used in (0, 1):
            for number in range(1, COMMANDS):
                key = f"{used}-{number}"
                if not after_command(stage, number, key, used, how):
                    break
                admitted(looker, key)
                cell = lasting(stage, "denied_s", *denied_for(looker, key), due=WINDOW)
                cell.figures["after_command"] = number
                cells.append(cell)
                if not cell.good:
                    break
    return longest(cells, "denied_s")


def longest(cells: Sequence[Cell], figure: str) -> Cell:
    """The one that lasted longest; what did not end has no figure."""
    assert cells, "a call without a command"
    return max(cells, key=lambda cell: math.inf if cell.figures[figure] is None else cell.figures[figure])


def after_command(stage: Stage, number: int, key: str, used: int, how: Callable[[Adapter, Gate], None]) -> bool:
    """Does something to a client that has sent so many commands of a call and not heard of the last; False if the call
    has fewer."""
    with Gate(stage.server.port) as gate:
        adapter = stage.adapter(gate.port)
        # It is connected, and the server has its scripts.
        consume(adapter, "other")
        for _ in range(used):
            consume(adapter, key)
        gate.hold(number)
        adapter.begin("consume", key=key, limit=LIMIT, seconds=WINDOW, request=key)
        while not gate.held.wait(0.002):
            if adapter.answered():
                adapter.kill()
                return False
        how(adapter, gate)
        return True


def lost_replies(command: Sequence[str]) -> Cell:
    """A tenth of the replies is lost, and whoever gets an error calls again: charged how often for each admission. What
    a bucket regains meanwhile is one at most."""
    with Stage(command) as stage, Proxy(stage.server.port, seed=14) as proxy:
        adapter = stage.adapter(proxy.port)
        consume(adapter, "other", limit=PLENTY, seconds=DAY)
        proxy.faults = Faults(lose=0.1)
        count = errors = 0
        for number in range(CALLS):
            answer = {"error": ""}
            while "error" in answer:
                request = f"call-{number}"
                try:
                    answer = adapter.ask("consume", key="k", limit=PLENTY, seconds=DAY, request=request, within=CAP)
                except SilentError:
                    return Cell(f"call {number + 1} hangs", False, {"admitted": count, "hangs_s": CAP})
                errors += "error" in answer
            count += bool(answer["ok"])
        charged = PLENTY - admitted(stage.adapter(), "k", most=PLENTY, limit=PLENTY, seconds=DAY)
    if not count:
        return Cell("none admitted", False, {"errors": errors})
    figures = {"admitted": count, "charged": charged, "errors": errors, "replies_lost": proxy.counts.lost}
    return Cell(f"{charged / count:.2f} times", abs(charged - count) <= 1, figures)


def clock_back(command: Sequence[str]) -> Cell:
    """The limit is used up, and the server's clock goes back an hour: denied for how long, or too many admitted."""
    with ClockSteps() as clock, Stage(command, clock.prefix) as stage:
        adapter = stage.adapter()
        admitted(adapter, "k")
        clock.step(-HOUR * 1_000_000)
        count = admitted(adapter, "k")
        return too_many(lasting(stage, "denied_s", *denied_for(adapter, "k"), due=WINDOW), count)


def script_flush(command: Sequence[str]) -> Cell:
    """The server forgets its scripts before each of ten calls: how many fail."""
    with Stage(command) as stage:
        adapter = stage.adapter()
        consume(adapter, "k")
        errors = []
        for _ in range(10):
            stage.server.command("SCRIPT", "FLUSH")
            answer = consume(adapter, "k")
            errors += [answer["error"]] if "error" in answer else []
    return Cell(f"{len(errors)} of 10 fail", not errors, {"errors": len(errors), "first": errors[:1]})


def fork(command: Sequence[str]) -> Cell:
    """The process forks after its first call, and both halves call at once: wrong answers and errors."""
    with Stage(command) as stage:
        adapter = stage.adapter()
        if not stage.hello["forks"]:
            return Cell("-", None)
        admitted(adapter, "full", most=PLENTY, limit=PLENTY, seconds=DAY)
        try:
            calls = {"open": "open", "full": "full", "times": 100, "limit": PLENTY, "seconds": DAY}
            answer = adapter.ask("fork", within=20.0, **calls)
        except SilentError:
            return Cell("hangs", False, {"hangs": True})
    if "error" in answer:
        return Cell("fails", False, answer)
    wrong, errors = answer["wrong"], answer["errors"]
    return Cell(f"{wrong} wrong, {errors} errors", wrong + errors == 0, {"wrong": wrong, "errors": errors, "of": 200})


def restart(command: Sequence[str]) -> Cell:
    """The server is killed and is away for a second: calls that fail once it is back, and when the first succeeds."""

    def call(adapter: Adapter) -> bool:
        return "ok" in consume(adapter, "k", limit=PLENTY, seconds=DAY, within=20)

    return restarted(command, call)


def restarted(command: Sequence[str], call: Callable[[Adapter], bool]) -> Cell:
    """Calls one after the other while the server goes and comes back; a call tells whether it succeeded. What happens
    goes by where the kill hits: the worst of some restarts."""
    cells: list[Cell] = []
    while len(cells) < RESTARTS and (not cells or cells[-1].good):
        cells.append(restarted_once(command, call))
    return longest(cells, "first_s")


def restarted_once(command: Sequence[str], call: Callable[[Adapter], bool]) -> Cell:
    with Stage(command) as stage:
        adapter = stage.adapter()
        call(adapter)
        ended: list[tuple[float, float, bool]] = []
        over = threading.Event()

        def calls() -> None:
            while not over.is_set():
                begun = time.monotonic()
                succeeded = call(adapter)
                ended.append((begun, time.monotonic(), succeeded))
                time.sleep(0.02)

        caller = threading.Thread(target=calls)
        caller.start()
        stage.server.kill9()
        time.sleep(1.0)
        stage.server.start()
        back = time.monotonic()
        while not any(done and end > back for _, end, done in list(ended)) and time.monotonic() < back + BACK_WITHIN:
            time.sleep(0.01)
        over.set()
        caller.join()
    failed = sum(1 for begun, _, done in ended if begun > back and not done)
    first = min((end - back for _, end, done in ended if done and end > back), default=None)
    figures = {"failed_after": failed, "failed": sum(1 for *_, done in ended if not done), "first_s": first}
    if first is None:
        return Cell(f"not within {BACK_WITHIN:.0f} s", False, figures)
    # How many fail until the first success depends on how often the caller calls.
    return Cell(f"{failed} fail, {first:.1f} s", first < SLACK, figures)
