"""`make soak`: load in every language on a cluster that fails and changes all along, to see that nothing grows.

Python, asyncio and Node processes, and php-fpm with workers that stay and workers that are recycled, call every feature
for MINUTES. Memory, descriptors and threads of each, and the connections of the servers, are looked at all along. What
each has allocated and not freed is counted (see live.c): that tells a leak from what an allocator keeps for later.
After a warm-up all must stay flat: see `LIMITS`. The table, the samples and a plot go to target/soak; with --docs the
plot also to docs/images. Whatever ends it, nothing of it stays behind.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import soak_plot
from cluster import Cluster, slot_of
from flat import LIMITS, Span, growth, more_blocks
from servers import ROOT
from soak_loads import loads
from soak_samples import Sampler

FOLDER = ROOT / "target" / "soak"
PICTURE = ROOT / "docs" / "images" / "soak.svg"
# A pause between two faults.
PEACE = 3.0
# So many slots of each primary move at once.
MOVES = 8
# So often connections are cut in a row, and how fast.
CUTS, CUT_EVERY = 20, 0.1
# What has begun has all its buffers after this part of the time.
WARM_UP = 0.25


class Faults:
    """What happens to the cluster, in turn; each is over when its call returns."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.luck, self.done = cluster, random.Random(1), dict[str, int]()

    def next(self) -> None:
        """Does the next one."""
        faults = [
            self.migrate,
            self.fail_over,
            self.cut,
            self.kill,
            self.migrate,
            self.freeze,
            self.cut,
            self.kill_replica,
        ]
        fault = faults[sum(self.done.values()) % len(faults)]
        fault()
        self.done[fault.__name__] = self.done.get(fault.__name__, 0) + 1

    def migrate(self) -> None:
        """Some slots move, with their keys: those of keys that calls are about."""
        keys = [node.ask("RANDOMKEY") for node in self.cluster.primaries() for _ in range(MOVES)]
        for slot in {slot_of(key) for key in keys if key}:
            source = self.cluster.owner_of_slot(slot)
            self.cluster.migrate_slot(slot, self.luck.choice([p for p in self.cluster.primaries() if p is not source]))

    def cut(self) -> None:
        """All connections of clients are cut, again and again."""
        for _ in range(CUTS):
            for node in self.cluster.nodes:
                for kind in ("normal", "pubsub"):
                    node.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
            time.sleep(CUT_EVERY)

    def fail_over(self) -> None:
        """A replica takes over in agreement with its primary."""
        self.cluster.promote(self.cluster.replicas_of(self.luck.choice(self.cluster.primaries()))[0])
        self.cluster.wait_until_it_serves()

    def kill(self) -> None:
        """A primary is killed, replaced and comes back as a replica."""
        primary = self.luck.choice(self.cluster.primaries())
        replicas = self.cluster.replicas_of(primary)
        primary.kill9()
        self.cluster.wait_until_promoted(*replicas)
        self.cluster.up()

    def kill_replica(self) -> None:
        """A replica is killed and comes back."""
        self.cluster.replicas_of(self.luck.choice(self.cluster.primaries()))[0].kill9()
        self.cluster.up()

    def freeze(self) -> None:
        """A primary stands still for so long that it is replaced."""
        primary = self.luck.choice(self.cluster.primaries())
        replicas = self.cluster.replicas_of(primary)
        primary.freeze()
        self.cluster.wait_until_promoted(*replicas)
        primary.thaw()
        self.cluster.wait_until_it_serves()


def main() -> int:
    """Runs it and tells what grew."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--docs", action="store_true", help="the plot is for the guide")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    seconds = options.minutes * 60
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(primaries=3, replicas=3))
        running = [stack.enter_context(load) for load in loads(cluster.url)]
        sampler = stack.enter_context(Sampler(running, cluster, every=max(1.0, seconds / 600)))
        faults = Faults(cluster)
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < seconds:
            faults.next()
            _tell(f"{passed:5.0f} s  {faults.done}  {[load.name for load in running if not load.lives()]}")
            if dead := [load.name for load in running if not load.lives()]:
                raise SystemExit(f"soak: {', '.join(dead)} ended before its time")
            time.sleep(PEACE)
        sampler.stop()
        counts = {load.name: load.end() for load in running}
    return report(sampler, counts, faults.done, seconds, docs=options.docs)


def report(
    sampler: Sampler, counts: dict[str, dict[str, int]], done: dict[str, int], seconds: float, *, docs: bool
) -> int:
    """Writes table, samples and plot; 1 if anything grew."""
    spans = [growth(name, what, series, seconds * WARM_UP) for (name, what), series in sampler.series.items()]
    text = "\n".join([_header(done, seconds), "", *_table(spans), "", *_calls(counts), "", *_sizes(spans, sampler)])
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "table.md").write_text(text + "\n")
    samples = [{"name": name, "what": what, "samples": found} for (name, what), found in sampler.series.items()]
    (FOLDER / "samples.json").write_text(json.dumps(samples))
    picture = soak_plot.draw(sampler.series, seconds, seconds * WARM_UP, sum(each["calls"] for each in counts.values()))
    (FOLDER / "soak.svg").write_text(picture)
    if docs:
        PICTURE.write_text(picture)
    print(text)
    grown = [span for span in spans if not span.is_flat]
    print(f"In {FOLDER.relative_to(ROOT)}: table.md, samples.json, soak.svg")
    print("soak: all flat" if not grown else f"soak: GROWN: {', '.join(f'{s.name} {s.what}' for s in grown)}")
    return 1 if grown else 0


def _header(done: dict[str, int], seconds: float) -> str:
    faults = ", ".join(f"{count} x {name.replace('_', ' ')}" for name, count in done.items())
    bounds = "; ".join(f"{what}: {limit}" for what, limit in LIMITS.items())
    return f"{seconds / 60:.0f} minutes; {faults}.\nGrowth after the warm-up of {seconds * WARM_UP:.0f} s: {bounds}."


def _table(spans: list[Span]) -> list[str]:
    rows = ["| process | what | median | growth | at most | |", "|---|---|---|---|---|---|"]
    for span in spans:
        verdict = "flat" if span.is_flat else "**grew**"
        rows.append(
            f"| {span.name} | {span.what} | {span.median:.1f} | {span.growth:+.2f} | {span.most:.1f} | {verdict} |"
        )
    return rows


def _calls(counts: dict[str, dict[str, int]]) -> list[str]:
    rows = ["| load | calls answered | not answered |", "|---|---|---|"]
    for name, each in counts.items():
        failed = ", ".join(f"{code} {count}" for code, count in sorted(each.items()) if code != "calls")
        rows.append(f"| {name} | {each['calls']} | {failed or '-'} |")
    return rows


def _sizes(spans: list[Span], sampler: Sampler) -> list[str]:
    """Of which blocks Quotalock has more at the end than after the warm-up, where it has more than it may."""
    rows = []
    for span in spans:
        if span.what == "by Quotalock" and not span.is_flat:
            more = more_blocks(sampler.blocks[span.name], WARM_UP)
            found = ", ".join(f"{count} of about {size} bytes" for size, count in more)
            rows.append(f"Blocks that {span.name} has more of: {found or 'no size for certain'}.")
    return rows


def _tell(line: str) -> None:
    print(f"soak: {line}", file=sys.stderr, flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the cleaning up.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
