"""A busy minute of a real access log, replayed in virtual time through a limiter of each algorithm."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import quotalock
from quotalock import testing

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "examples" / "data" / "apache_access.log"

# In the order of the guide.
ALGORITHMS = ("fixed-window", "calendar-window", "sliding-window", "sliding-log", "token-bucket")
# The client with the busiest minute, and its minute from a second on that is no edge of the calendar's windows.
CLIENT = "75.97.9.59"
FROM, TO = "2015-05-18 08:05:05", "2015-05-18 08:05:59"
LIMIT, PERIOD = 10, 10

_LINE = re.compile(r"(\S+) \S+ \S+ \[([^]]+)]")


@dataclass(frozen=True)
class Admitted:
    """What a limiter let through."""

    algorithm: str
    per_second: Sequence[int]

    @property
    def total(self) -> int:
        """All admissions."""
        return sum(self.per_second)

    @property
    def most(self) -> int:
        """The most admissions in as many consecutive seconds as the period has."""
        return max(sum(self.per_second[start : start + PERIOD]) for start in range(len(self.per_second)))


def offered() -> list[int]:
    """When the client's requests came, in seconds since the epoch; the log is not in order within a minute."""
    first, last = _seconds(FROM), _seconds(TO)
    times = []
    for line in LOG.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if match and match[1] == CLIENT:
            time = int(datetime.strptime(match[2], "%d/%b/%Y:%H:%M:%S %z").timestamp())
            if first <= time <= last:
                times.append(time)
    return sorted(times)


def per_second(times: Sequence[int]) -> list[int]:
    """Counts the requests of each second of the stretch."""
    first = _seconds(FROM)
    counts = [0] * (_seconds(TO) - first + 1)
    for time in times:
        counts[time - first] += 1
    return counts


def replay(algorithm: str) -> Admitted:
    """Offers the client's requests to a limiter at the times at which they came."""
    client = quotalock.Client(f"memory://{algorithm}")
    limiter = client.limiter("replay", f"{algorithm} {LIMIT}/{PERIOD}s")
    admitted = []
    for time in offered():
        testing.set_time(client, time * 1_000_000)
        if limiter.consume(CLIENT):
            admitted.append(time)
    return Admitted(algorithm, per_second(admitted))


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())
