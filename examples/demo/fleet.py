"""Act 3: one limit, hit at once by services in PHP, Python and Node, with the clients of a real access log."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from needs import ROOT, DemoError, Tools
from shop import Shop

LOG = ROOT / "examples/data/apache_access.log"
HERE = Path(__file__).parent

LIMIT = 20
# An hour, so that the whole act lies in the first window of each client and the expected sum is exact.
POLICY = f"{LIMIT}/hour"
TICK = 0.05
LENGTH = 5.0
GIVE_UP_AFTER = 60.0


@dataclass
class Service:
    """One service: its answers, as they come in."""

    language: str
    process: subprocess.Popen[str]
    requests: Counter[str] = field(default_factory=Counter)
    admitted: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Fleet:
    """What came of the act: per client and language, and what had to come."""

    requests: dict[str, Counter[str]]
    admitted: dict[str, Counter[str]]
    log: Counter[str]

    @property
    def expected(self) -> Counter[str]:
        """What must be admitted per client: all that it asked for, up to the limit."""
        return Counter({client: min(LIMIT, count) for client, count in self.log.items()})

    @property
    def total(self) -> Counter[str]:
        """Admitted per client, over all languages."""
        return sum(self.admitted.values(), Counter())

    @property
    def wrong(self) -> dict[str, tuple[int, int]]:
        """The clients of whom not exactly min(limit, requests) were admitted, with what was and should have been."""
        total, expected = self.total, self.expected
        return {key: (total[key], expected[key]) for key in total | expected if total[key] != expected[key]}


def clients_of_log() -> list[str]:
    """Reads the client address of every request, in order."""
    with LOG.open(encoding="ascii", errors="replace") as lines:
        return [line.split(" ", 1)[0] for line in lines]


def run(
    tools: Tools, redis_url: str, shop: Shop, clients: list[str], on_second: Callable[[int, list[Service]], None]
) -> Fleet:
    """Deals the requests out in turn, replays each share in its own language, all at once, and counts."""
    commands = {
        "PHP": [sys.executable, str(HERE / "through_php.py"), shop.url],
        "Python": [sys.executable, str(HERE / "service.py"), redis_url, POLICY],
        "Node": [tools.node, str(HERE / "service.mjs"), redis_url, POLICY],
    }
    services = [Service(language, _start(command)) for language, command in commands.items()]
    try:
        batch = max(1, round(len(clients) / len(services) * TICK / LENGTH))
        for turn, service in enumerate(services):
            share = clients[turn :: len(services)]
            _say(service, json.dumps({"clients": share, "batch": batch, "tick": TICK}))
        for service in services:
            if _hear(service) != "ready":
                raise DemoError(f"the {service.language} service did not start")
        for service in services:
            _say(service, "go")
        _collect(services, on_second)
    finally:
        for service in services:
            service.process.kill()
            service.process.wait()
    return Fleet(
        {service.language: service.requests for service in services},
        {service.language: service.admitted for service in services},
        Counter(clients),
    )


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def _say(service: Service, line: str) -> None:
    assert service.process.stdin is not None
    service.process.stdin.write(line + "\n")
    service.process.stdin.flush()


def _hear(service: Service) -> str:
    assert service.process.stdout is not None
    return service.process.stdout.readline().strip()


def _collect(services: list[Service], on_second: Callable[[int, list[Service]], None]) -> None:
    """Counts the answers, a thread for each service, until all have ended well."""
    readers = [threading.Thread(target=_read, args=(service,), daemon=True) for service in services]
    start = time.monotonic()
    for reader in readers:
        reader.start()
    second = 0
    while any(reader.is_alive() for reader in readers):
        second += 1
        for reader in readers:
            reader.join(max(0.0, start + second - time.monotonic()))
        on_second(second, services)
        if second > GIVE_UP_AFTER:
            raise DemoError("the services did not get through the log")
    for service in services:
        if service.process.wait(10) != 0:
            raise DemoError(f"the {service.language} service failed, see above")


def _read(service: Service) -> None:
    assert service.process.stdout is not None
    for line in service.process.stdout:
        client, admitted = line.split()
        service.requests[client] += 1
        service.admitted[client] += int(admitted)
