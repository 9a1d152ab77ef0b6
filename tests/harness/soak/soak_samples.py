"""Looks at processes and servers again and again."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from cluster import Cluster
from flat import Sample
from live import Live
from servers import ServerError
from soak_loads import Load


class Sampler:
    """Looks at all loads, and at how many connections the servers have, until it is stopped."""

    def __init__(self, running: Sequence[Load], cluster: Cluster, every: float) -> None:
        self.series: dict[tuple[str, str], list[Sample]] = {}
        # How many blocks of each size Quotalock has, by load.
        self.blocks: dict[str, list[array[int]]] = {}
        self._loads, self._cluster, self._every = running, cluster, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def stop(self) -> None:
        """Ends the looking."""
        self._over.set()
        self._thread.join()

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._over.wait(self._every):
            for load in self._loads:
                live = load.live()
                for what, number in (look(load.pids()) | allocated(live)).items():
                    self._note(load.name, what, time.monotonic() - begun, number)
                if live:
                    blocks = array("q", map(sum, zip(*(each.blocks for each in live), strict=True)))
                    self.blocks.setdefault(load.name, []).append(blocks)
            # What one that is killed or frozen has cannot be known.
            with contextlib.suppress(ServerError):
                found = [_connections(node.info("clients")) for node in self._cluster.nodes if node.runs]
                if len(found) == len(self._cluster.nodes):
                    self._note("servers", "connections", time.monotonic() - begun, sum(found))

    def _note(self, name: str, what: str, at: float, number: float) -> None:
        self.series.setdefault((name, what), []).append((round(at, 1), round(number, 3)))


def look(pids: Sequence[int]) -> dict[str, float]:
    """Memory of their own and shared (in MiB), descriptors and threads of these processes, on average."""
    found = []
    for pid in pids:
        # It may end meanwhile.
        with contextlib.suppress(OSError, ProcessLookupError):
            folder = Path(f"/proc/{pid}")
            rollup = (folder / "smaps_rollup").read_text()
            # Not the pages of programs and libraries: the share of a process in them depends on who else has them.
            sizes = {words[0]: int(words[1]) / 1024 for line in rollup.splitlines()[1:] if (words := line.split())}
            own, shared = sizes["Private_Dirty:"], sizes["Pss_Shmem:"]
            found.append((own, shared, len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))))
    if not found:
        return {}
    numbers = [sum(column) / len(found) for column in zip(*found, strict=True)]
    return dict(zip(("memory", "shared memory", "descriptors", "threads"), numbers, strict=True))


def allocated(live: Sequence[Live]) -> dict[str, float]:
    """What these processes have allocated, Quotalock in them, and the heap of JavaScript (in KiB), on average."""
    if not live:
        return {}
    numbers = {
        "allocated": [each.program for each in live],
        "by Quotalock": [each.library for each in live],
        "heap": [each.heap for each in live if each.heap],
    }
    return {what: sum(each) / len(each) / 1024 for what, each in numbers.items() if each}


def _connections(info: dict[str, str]) -> int:
    return int(info["connected_clients"])
