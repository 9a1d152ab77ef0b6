"""The buyers of act 4 in one language, and the processes that they are in."""

from __future__ import annotations

import json
import subprocess
import threading
from collections import Counter

from needs import ROOT, DemoError

# At which second, who, how long it thinks before it pays, whether the worker that takes the payment dies.
Ask = tuple[float, str, float, bool]


class Crowd:
    """The buyers of one language: one process after the other, each killed for the next, and what they are told."""

    def __init__(self, language: str, command: list[str], shifts: list[list[Ask]], hold: float) -> None:
        self.language = language
        self.told: Counter[str] = Counter()
        # Those who hold a unit and have not paid yet: reservation and buyer.
        self.paying: dict[str, str] = {}
        self.paid: dict[str, str] = {}
        self.sold_out: list[str] = []
        self.failures: list[str] = []
        # All are started at once, so that no buyer finds a shop that is not open yet.
        self.waiting = [self.start(command, shift, hold) for shift in shifts]
        self.process = self.waiting[0]

    def start(self, command: list[str], asks: list[Ask], hold: float) -> subprocess.Popen[str]:
        """Starts a process for these buyers; it waits to hear when the sale began."""
        process = popen(command)
        say(process, json.dumps({"asks": asks, "hold": hold}))
        return process

    def make_ready(self) -> None:
        """Waits until all of them could begin."""
        for process in self.waiting:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise DemoError(f"the {self.language} buyers did not come")

    def go(self, began: float) -> None:
        """Lets the next process begin."""
        self.process = self.waiting.pop(0)
        say(self.process, str(began))
        self.reader = threading.Thread(target=self.read, args=(self.process,), daemon=True)
        self.reader.start()

    def read(self, process: subprocess.Popen[str]) -> None:
        """Notes each answer."""
        assert process.stdout is not None
        for line in process.stdout:
            outcome, buyer, *rest = line.rstrip("\n").split(" ", 2)
            self.told[outcome] += 1
            if outcome == "held":
                self.paying[rest[0]] = buyer
            elif outcome == "sold_out":
                self.sold_out.append(buyer)
            elif outcome == "failed":
                self.failures.append(f"{self.language}: {buyer}: {' '.join(rest)}")
            elif rest:
                del self.paying[rest[0]]
                if outcome == "paid":
                    self.paid[rest[0]] = buyer

    def kill(self, began: float) -> int:
        """Kills the process and lets the next go on; answers how many held a unit and will never pay."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        died, self.paying = len(self.paying), {}
        self.told["died"] += died
        self.go(began)
        return died

    def end(self) -> None:
        """Notes the last answers."""
        code = self.process.wait()
        self.reader.join()
        if code:
            raise DemoError(f"the {self.language} buyers failed, see above")

    def close(self) -> None:
        """Ends it, whatever it does."""
        for process in (self.process, *self.waiting):
            process.kill()
            process.wait()


def popen(command: list[str]) -> subprocess.Popen[str]:
    """Starts a process that is told things and says things, and ends with this thread."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def say(process: subprocess.Popen[str], line: str) -> None:
    """Tells a process something."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
