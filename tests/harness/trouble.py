"""Faults that are done to a load, to its server, and to what is between them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

from clock_steps import ClockSteps
from lock_load import Load
from proxy import Faults, Proxy
from servers import Server

TTLS = """
local keys, shown = redis.call('KEYS', '*'), {}
for n, key in ipairs(keys) do shown[n] = redis.call('PTTL', key) .. ' ' .. key end
return table.concat(shown, '\\n')
"""


class Trouble:
    """Faults, each over when its call returns, half a second later at most; `done` counts them."""

    def __init__(self, load: Load, server: Server, proxy: Proxy, clock: ClockSteps | None = None) -> None:
        self.load, self.server, self.proxy, self.clock, self.luck = load, server, proxy, clock, load.luck
        self.done: Counter[str] = Counter()

    def run(self, seconds: float, *faults: Callable[[], None]) -> None:
        """Does each of the faults in turn, in an order that changes, with peace between them, for a time."""
        end = time.monotonic() + seconds
        while True:
            for fault in self.luck.sample(faults, len(faults)):
                fault()
                self.done[fault.__name__] += 1
                time.sleep(self.luck.uniform(0, 0.15))
                if time.monotonic() > end:
                    return
            if not faults:
                time.sleep(seconds)
                return

    def lose_replies(self) -> None:
        """Replies are lost, with their connections."""
        self._proxy_has(Faults(lose=0.1, spare=1, keep=self.luck.choice([0, 7]), reset=self.luck.random() < 0.5))

    def delay_replies(self) -> None:
        """Replies are late, some more than others."""
        self._proxy_has(Faults(delay=0.06, spread=1.0))

    def delay_replies_a_little(self) -> None:
        """Replies are a little late: what takes two steps takes longer."""
        self._proxy_has(Faults(delay=0.012, spread=1.0))

    def delay_requests(self) -> None:
        """Requests are late, some more than others."""
        self._proxy_has(Faults(late=0.06, spread=1.0))

    def hang_up(self) -> None:
        """All connections end."""
        self.proxy.hang_up()

    def freeze_worker(self) -> None:
        """A worker stands still, mostly for longer than its leases last."""
        self.load.freeze_one(self.luck.uniform(0.05, 0.4))

    def kill_one(self) -> None:
        """A worker is killed, and another takes its place."""
        self.load.replace(self.proxy.url)

    def kill_granted(self) -> None:
        """A worker is killed once it was granted a lock and before it hears of it; the value begins with its name."""
        (key,) = {name for entry in self.load.mix for name in entry["names"]}
        self.proxy.faults = Faults(delay=0.04)
        before, end = self.server.command("GET", key), time.monotonic() + 0.3
        while time.monotonic() < end:
            holder = self.server.command("GET", key)
            if holder not in ("$-1", "-1", before):
                self.load.replace(self.proxy.url, holder.split(":")[0])
                break
        self.proxy.faults = Faults()

    def freeze_server(self) -> None:
        """The server stands still."""
        self.server.sigstop()
        time.sleep(self.luck.uniform(0.05, 0.35))
        self.server.sigcont()

    def flush_scripts(self) -> None:
        """The server forgets the scripts, again and again."""
        for _ in range(20):
            self.server.command("SCRIPT", "FLUSH")
            time.sleep(0.005)

    def flush_all(self) -> None:
        """The server forgets everything."""
        self.server.command("FLUSHALL")

    def crash(self) -> None:
        """The server is killed and started again."""
        self.server.kill9()
        self.server.start()

    def step_back(self) -> None:
        """The server's clock is set back."""
        self._step(-1)

    def step_forward(self) -> None:
        """The server's clock is set forward."""
        self._step(1)

    def _step(self, direction: int) -> None:
        assert self.clock is not None
        self.clock.step(direction * self.luck.choice([1_000, 50_000, 3_000_000]))

    def _proxy_has(self, faults: Faults) -> None:
        self.proxy.faults = faults
        time.sleep(self.luck.uniform(0.1, 0.4))
        self.proxy.faults = Faults()


def ttls(server: Server) -> Iterator[tuple[str, int]]:
    """All keys of a server, each with its PTTL."""
    for line in server.command("EVAL", TTLS, "0").splitlines():
        ttl, key = line.split(" ", 1)
        yield key, int(ttl)
