"""Two hundred children of php-fpm and a failover: they do not all ask at once where the slots are now."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from cluster import Cluster
from fpm import Fpm, body
from servers import ROOT

CHILDREN = 200
# In any second, of one node. Each child asks at a moment of its own within eight seconds, so the busiest second has
# about 12 and sometimes 25; if all asked at once, it would have more than 100.
AT_MOST = 40
LOOKS_EVERY = 0.05


class Herd:
    """The children, each with a request that lasts until `end`."""

    def __init__(self, fpm: Fpm, url: str, folder: Path) -> None:
        self._file = folder / "calling"
        self._file.touch()
        script = ROOT / "tests/harness/herd.php"
        self._requests = [fpm.request(script, url=url, file=self._file, number=n) for n in range(CHILDREN)]

    def wait_until_ready(self) -> None:
        """Returns when all have called."""
        give_up = time.monotonic() + 60
        while self._file.stat().st_size < CHILDREN:
            assert time.monotonic() < give_up, f"{self._file.stat().st_size} of {CHILDREN} call"
            time.sleep(0.05)

    def end(self) -> tuple[int, int]:
        """Ends them, and answers how many calls they made and how many failed."""
        self._file.unlink(missing_ok=True)
        lines = [[int(number) for number in body(request).split()] for request in self._requests]
        return sum(calls for calls, _ in lines), sum(failed for _, failed in lines)


def watched(cluster: Cluster, seconds: float) -> dict[int, list[tuple[float, int]]]:
    """How often each node was asked for the map, from time to time."""
    looks: dict[int, list[tuple[float, int]]] = {node.port: [] for node in cluster.running()}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for node in cluster.running():
            looks[node.port].append((time.monotonic(), node.map_requests()))
        time.sleep(LOOKS_EVERY)
    return looks


def most_in_a_second(looks: list[tuple[float, int]]) -> int:
    """The most questions between two looks that are at most a second apart."""
    spans = [
        count - before for at, before in looks for later, count in looks if 0 <= later - at <= 1.0 + LOOKS_EVERY / 2
    ]
    return max(spans, default=0)


@pytest.mark.parametrize("name", ["redis-7.0", "valkey-9.1"])
def test_the_map_is_not_asked_for_by_all_at_once(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder, Fpm(CHILDREN) as fpm, Cluster(name, replicas=3) as cluster:
        herd = Herd(fpm, cluster.url, Path(folder))
        try:
            herd.wait_until_ready()
            primary = cluster.primaries()[0]
            (replica,) = cluster.replicas_of(primary)
            primary.kill9()
            looks = watched(cluster, 4)
            assert replica in cluster.primaries()
        finally:
            calls, failed = herd.end()
        asked = {port: most_in_a_second(each) for port, each in looks.items()}
        print(f"{calls} calls, {failed} failed; asked in a second, at most: {asked}")
        assert calls > 10 * CHILDREN
        assert max(asked.values()) <= AT_MOST
        # Somebody found out.
        assert sum(each[-1][1] - each[0][1] for each in looks.values()) > 0
