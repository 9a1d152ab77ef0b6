"""Buyers of the flash sale, each at a time of its own: what the Python and the PHP service of act 4 have in common.

The first line of standard input holds `{"asks": [[at, buyer, thinks, dies], ...], "hold": seconds}`. Once ready the
service says `ready`, and then hears the monotonic time at which the sale begins. A buyer asks for a unit at its time,
and if it got one, pays after it has thought for a while. Each step is a line: `held BUYER ID`, `sold_out BUYER`,
`buyer_limit BUYER`, `paid BUYER ID`, `late BUYER ID` (the hold was over) or `died BUYER ID` (the worker that was to
take the payment was killed).

Redis may be away for a moment: whoever hears of it asks again, with the same request id.
"""

from __future__ import annotations

import heapq
import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

THREADS = 8
AGAIN_AFTER = 0.05

# At which time, in which order, who, how long it thinks, whether the worker dies, and the reservation once it has one.
Step = tuple[float, int, str, float, bool, str]


class AwayError(Exception):
    """Redis cannot be reached; nobody knows what became of the call."""


class Buyers:
    """Has every buyer `take` a unit, which answers an outcome and maybe an id, and `pay`, which answers an outcome."""

    def __init__(self, take: Callable[[str, float], tuple[str, str]], pay: Callable[[str, str, bool], str]) -> None:
        self.take, self.pay = take, pay
        self.due: list[Step] = []
        self.changed = threading.Condition()
        self.under_way = 0

    def run(self) -> None:
        """Speaks the protocol above, to the end of the sale."""
        task = json.loads(sys.stdin.readline())
        self.hold: float = task["hold"]
        self.due = [(at, number, *ask, "") for number, (at, *ask) in enumerate(task["asks"])]
        heapq.heapify(self.due)
        print("ready", flush=True)
        self.began = float(sys.stdin.readline())
        with ThreadPoolExecutor(THREADS) as pool:
            while (step := self.next()) is not None:
                pool.submit(self.do, step)

    def next(self) -> Step | None:
        """Waits for the next step that is due; None when all is over."""
        with self.changed:
            while self.due or self.under_way:
                wait = self.began + self.due[0][0] - time.monotonic() if self.due else None
                if wait is not None and wait <= 0:
                    self.under_way += 1
                    return heapq.heappop(self.due)
                self.changed.wait(wait)
        return None

    def do(self, step: Step) -> None:
        """Does one step and says what came of it."""
        _, number, buyer, thinks, dies, reservation = step
        following: Step | None = None
        try:
            if reservation:
                self.say(self.pay(buyer, reservation, dies), buyer, reservation)
            else:
                outcome, reservation = self.take(buyer, self.hold)
                self.say(outcome, buyer, reservation)
                if reservation:
                    following = (time.monotonic() - self.began + thinks, number, buyer, thinks, dies, reservation)
        except AwayError:
            following = (time.monotonic() - self.began + AGAIN_AFTER, *step[1:])
        except Exception as error:
            self.say("failed", buyer, repr(error))
        with self.changed:
            self.under_way -= 1
            if following is not None:
                heapq.heappush(self.due, following)
            self.changed.notify()

    def say(self, *words: str) -> None:
        """Says it at once, in one piece: a moment later we may be killed."""
        sys.stdout.write(" ".join(filter(None, words)) + "\n")
        sys.stdout.flush()
