"""One node of a Redis Cluster: what may be asked of it, and the file from which it knows the others when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bus import Bus
from member import Member
from proxy import Proxy

# The bus of a node listens so far above its port.
BUS = 10_000
# What a client may ask for the map of slots. The harness itself asks `CLUSTER NODES`.
MAPS = ("cluster|slots", "cluster|shards")


@dataclass(frozen=True)
class Line:
    """What a node knows of a node, of itself too."""

    id: str
    flags: frozenset[str]
    # The id of the primary that it follows, or a dash.
    primary: str
    epoch: int
    slots: frozenset[int]

    @property
    def serves(self) -> bool:
        """Whether it is a primary with slots, and not known to fail."""
        return bool(self.slots) and "master" in self.flags and not self.flags & {"fail", "fail?"}


class Node(Member):
    """One node on a port that is given; it keeps its `id`, its port and what it knows of the cluster when it ends and
    is started again. With a `proxy` clients are led to that, with a `bus` other nodes; `host` is what it calls
    itself in place of 127.0.0.1."""

    def __init__(
        self,
        name: str,
        id: str,
        port: int,
        timeout_ms: int,
        *args: str,
        proxy: Proxy | None = None,
        host: str = "",
        bus: Bus | None = None,
    ) -> None:
        self.id, self.proxy = id, proxy
        # Where other nodes find it.
        self.bus_port = bus.listen(id, port + BUS) if bus else port + BUS
        options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        options += ["--cluster-node-timeout", str(timeout_ms), "--cluster-require-full-coverage", "no"]
        # Replicas stay where a test put them, and stand for election however long they were cut off.
        options += ["--cluster-allow-replica-migration", "no", "--cluster-replica-validity-factor", "0"]
        options += ["--repl-diskless-sync-delay", "0"]
        if proxy is not None:
            options += ["--cluster-announce-port", str(proxy.port)]
        if proxy is not None or bus is not None:
            options += ["--cluster-announce-bus-port", str(self.bus_port)]
        if host:
            options += ["--cluster-announce-ip", host]
        super().__init__(name, *options, *args)
        self.port = port

    @property
    def address(self) -> str:
        """Where clients find it, `127.0.0.1:PORT`: its proxy if it has one."""
        return f"127.0.0.1:{self.proxy.port if self.proxy else self.port}"

    def view(self) -> list[Line]:
        """What it knows of all nodes."""
        return [_line(line) for line in self.ask("CLUSTER", "NODES").splitlines()]

    def map_requests(self) -> int:
        """How often clients asked it for the map of slots, since it started."""
        stats = self.info("commandstats")
        asked = [stats.get(f"cmdstat_{name}", "calls=0") for name in MAPS]
        return sum(int(each.split(",")[0].removeprefix("calls=")) for each in asked)

    def close(self) -> None:
        """Ends it, with its proxy, and removes its folder."""
        super().close()
        if self.proxy is not None:
            self.proxy.close()

    def seed(self, nodes: Sequence[Node], slots: Mapping[str, str], follows: Mapping[str, str]) -> None:
        """Writes down what it is to know when it starts: the nodes, whose slots are where, and who follows whom."""
        lines = []
        for epoch, node in enumerate(nodes, 1):
            flags = ("myself," if node is self else "") + ("slave" if node.id in follows else "master")
            primary = follows.get(node.id, "-")
            # A replica has the epoch of its primary.
            number = 1 + next((n for n, each in enumerate(nodes) if each.id == primary), epoch - 1)
            where = f"{node.address}@{node.bus_port}"
            if node.name not in ("redis-6.2", "redis-7.0"):
                # Else each would be a shard of its own, one that comes back would follow nobody, and Redis 8.2 would
                # end by an assertion at the first SPUBLISH.
                where += f",,shard-id={follows.get(node.id, node.id)}"
            line = [node.id, where, flags, primary, "0", "0", str(number), "connected", slots.get(node.id, "")]
            lines.append(" ".join(line).rstrip())
        lines.append(f"vars currentEpoch {len(nodes)} lastVoteEpoch 0")
        (self.folder / "nodes.conf").write_text("\n".join(lines) + "\n")


def _line(line: str) -> Line:
    id, _, flags, primary, _, _, epoch, _, *slots = line.split(" ")
    # What is on its way stands in brackets.
    spans = [[int(end) for end in part.split("-")] for part in slots if not part.startswith("[")]
    owned = frozenset(slot for span in spans for slot in range(span[0], span[-1] + 1))
    return Line(id, frozenset(flags.split(",")), primary, int(epoch), owned)
