"""What the kernel tells about this machine and about processes on it."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")
CORES = len(os.sched_getaffinity(0))


def description() -> str:
    """The processor, the cores we may use, and the kernel."""
    models = [line.split(":", 1)[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    model = models[0].strip() if models else platform.machine()
    return f"{CORES} cores ({model}), {platform.system()} {platform.release()}"


def cores() -> set[int]:
    """The cores that we may use."""
    return os.sched_getaffinity(0)


def load() -> float:
    """The load of the last minute."""
    return os.getloadavg()[0]


def cpu_us(pid: int) -> float:
    """The CPU used by a process, with that of its threads which ended, to the nanosecond."""
    # What clock_getcpuclockid(3) gives, which Python has for threads only.
    return time.clock_gettime_ns((~pid << 3) | 2) / 1000


class Others:
    """Tells how busy the cores were with what isn't ours, from its making on."""

    def __init__(self, *ours: int) -> None:
        self.ours = ours
        self.begun = (time.monotonic(), self._busy() - self._own())

    def share(self) -> float:
        """The others' share of all cores, 0 to 1."""
        then, busy = self.begun
        return max(0.0, (self._busy() - self._own() - busy) / ((time.monotonic() - then) * CORES))

    def _own(self) -> float:
        return sum(cpu_us(pid) for pid in self.ours) / 1e6

    @staticmethod
    def _busy() -> float:
        # user, nice and system, and what the hypervisor gave to others; interrupts may be on our behalf.
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
        return sum(int(words[column]) for column in (1, 2, 3, 8)) * TICK
