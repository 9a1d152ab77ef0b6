"""A Redis Cluster of real servers on loopback, and what may happen to one: moved slots, new primaries, dead nodes.

The nodes are told of each other before they start, by the file in which a node keeps what it knows. So a cluster is
there as soon as its servers are, and the two seconds are over for which a primary that starts refuses to serve.
"""

from __future__ import annotations

import binascii
import secrets
from collections.abc import Callable

from bus import Bus
from cluster_node import BUS, Line, Node
from member import until
from program import free_port, listens
from proxy import Proxy
from running import Running
from servers import ServerError

SLOTS = 16_384
# How many keys move at once; nobody is served meanwhile.
AT_ONCE = 50


class Cluster(Running):
    """So many primaries that share the slots, and replicas that follow them in turn; `args` are further options of
    all nodes, as on a server's command line.

    A primary that is gone for `timeout_ms` is replaced. With `proxied` clients are led to a proxy in front of each
    node, `node.proxy`; with a `host` to that in place of 127.0.0.1. `parted` clusters can be cut apart, their
    nodes from each other and not from clients. Nodes are killed, frozen and started one by one.
    """

    def __init__(
        self,
        name: str = "redis-7.0",
        *args: str,
        primaries: int = 3,
        replicas: int = 0,
        timeout_ms: int = 1000,
        proxied: bool = False,
        host: str = "",
        parted: bool = False,
    ) -> None:
        self.name, self.args, self.timeout_ms = name, args, timeout_ms
        self._parted, self._bus = parted, Bus()
        self.nodes: list[Node] = []
        self._counts, self._proxied, self._host = (primaries, replicas), proxied, host

    @property
    def url(self) -> str:
        """The address for clients: that of the primaries that are there now."""
        return f"redis+cluster://{','.join(node.address for node in self.primaries())}"

    def start(self, *, wait: bool = True) -> None:
        """Starts the nodes and returns once they serve; not to `wait`, before: then `wait_until_it_serves`."""
        for last in (False, False, False, True):
            try:
                self._launch(*self._counts)
                break
            except ServerError as error:
                self.close()
                # Somebody else was faster.
                if last or "ddress already in use" not in str(error):
                    raise
        if wait:
            self.wait_until_it_serves()

    def close(self) -> None:
        """Ends all nodes and removes their folders."""
        for node in self.nodes:
            node.close()
        self.nodes = []
        self._bus.close()
        self._bus = Bus()

    def running(self) -> list[Node]:
        """The nodes that are there and not frozen."""
        return [node for node in self.nodes if node.runs]

    def primaries(self) -> list[Node]:
        """The primaries with slots that are not known to fail, in the order of their first slots."""
        lines = sorted((line for line in self._view() if line.serves), key=lambda line: min(line.slots))
        return [self.node(line.id) for line in lines]

    def replicas_of(self, primary: Node) -> list[Node]:
        """Who follows a primary."""
        return [self.node(line.id) for line in self._view() if line.primary == primary.id]

    def node(self, id: str) -> Node:
        """The node with this id."""
        return next(node for node in self.nodes if node.id == id)

    def owner_of(self, key: str | bytes) -> Node:
        """The primary to which a key belongs."""
        return self.owner_of_slot(slot_of(key))

    def owner_of_slot(self, slot: int) -> Node:
        """The primary of a slot."""
        return self.node(next(line.id for line in self._view() if slot in line.slots))

    def keys(self) -> int:
        """How many keys there are, of all primaries."""
        return sum(node.ask("DBSIZE") for node in self.primaries())

    def flush(self) -> None:
        """Removes all keys."""
        for node in self.primaries():
            node.ask("FLUSHALL")

    def map_requests(self) -> dict[int, int]:
        """How often clients asked each node for the map of slots since it started, by the ports of the nodes."""
        return {node.port: node.map_requests() for node in self.running()}

    def wait_until_it_serves(self) -> None:
        """Returns once all nodes that are there serve, agree, and follow whom they are to follow."""
        self._until(self._serves, "does not serve")

    def migrate_slot(self, slot: int, to: Node, half_way: Callable[[], object] | None = None) -> int:
        """Moves a slot and its keys and answers how many; `half_way` is called when half of them moved."""
        source = self.owner_of_slot(slot)
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
        moved = self.move_keys(slot, source, to, source.ask("CLUSTER", "COUNTKEYSINSLOT", slot) // 2)
        if half_way is not None:
            half_way()
        while count := self.move_keys(slot, source, to, 1000):
            moved += count
        # The new owner first: there is always one, and whoever still asks the old one is sent on.
        for node in [to, source, *(each for each in self.primaries() if each not in (to, source))]:
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.id)
        return moved

    def move_keys(self, slot: int, source: Node, to: Node, count: int) -> int:
        """Moves at most so many keys of a slot that is on its way, and answers how many."""
        keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, count) if count else []
        for first in range(0, len(keys), AT_ONCE):
            # Those that are over meanwhile are no error: `NOKEY`.
            source.ask("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys[first : first + AT_ONCE])
        return len(keys)

    def promote(self, replica: Node, how: str = "") -> None:
        """Has a replica take over by hand: in agreement with its primary, by `FORCE` or by `TAKEOVER`."""
        replica.ask("CLUSTER", "FAILOVER", *([how] if how else []))
        self.wait_until_promoted(replica)

    def wait_until_promoted(self, *replicas: Node) -> Node:
        """Returns the first of these that is a primary with slots in its own eyes."""

        def promoted() -> Node | None:
            lines = [(node, line) for node in replicas if node.runs for line in node.view()]
            return next((node for node, line in lines if "myself" in line.flags and line.serves), None)

        self._until(lambda: promoted() is not None, "promotes none of the replicas")
        return promoted() or replicas[0]

    def add_node(self, primary: Node | None = None) -> Node:
        """Adds a node without slots, as a replica of this primary if one is given; returns once all agree on it."""
        node = self._made()
        self.nodes.append(node)
        node.seed([node], {}, {})
        node.start()
        node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, self.nodes[0].bus_port)
        ids = {each.id for each in self.nodes}
        self._until(lambda: all({line.id for line in view} == ids for view in self._views()), "takes in no new node")
        if primary is not None:
            node.ask("CLUSTER", "REPLICATE", primary.id)
        self.wait_until_it_serves()
        return node

    def remove_node(self, node: Node) -> None:
        """Removes a node without slots: the others forget it, and it ends."""
        if node in self.primaries():
            raise ServerError(f"the node at {node.port} has slots: move them first")
        self.nodes.remove(node)
        for other in self.running():
            other.ask("CLUSTER", "FORGET", node.id)
        node.close()

    def split(self, primary: Node) -> Node:
        """Cuts a primary off from the others, not from clients, and promotes its replica: both serve its slots. For a
        minute they forget each other whenever they meet, so it is for good."""
        (replica,) = self.replicas_of(primary)
        others = [node for node in self.nodes if node not in (primary, replica)]
        # In this order: servers pass on whom they have forgotten to those who know them, who then forget it too.
        for other in others:
            other.ask("CLUSTER", "FORGET", primary.id)
        primary.ask("CLUSTER", "FORGET", replica.id)
        # A replica cannot forget whom it follows.
        self.promote(replica, "TAKEOVER")
        replica.ask("CLUSTER", "FORGET", primary.id)
        for other in others:
            primary.ask("CLUSTER", "FORGET", other.id)
        return replica

    def cut(self, *minority: Node) -> None:
        """Cuts nodes off from all others, not from each other or from clients."""
        self._bus.cut([node.id for node in minority], [node.id for node in self.nodes if node not in minority])

    def heal(self, one: Node | None = None, other: Node | None = None) -> None:
        """Lets two nodes find each other again, or all that were cut off."""
        self._bus.heal([one.id] if one else [], [other.id] if other else [])

    def down(self) -> None:
        """Ends all nodes as a power failure would."""
        for node in self.nodes:
            node.kill9()

    def up(self) -> None:
        """Starts the nodes that do not run, each with what it knew, and returns once all serve."""
        for node in self.nodes:
            if node.frozen:
                node.thaw()
            if not node.runs:
                node.start(loaded=False)
        self.wait_until_it_serves()

    def _launch(self, primaries: int, replicas: int) -> None:
        self.nodes = []
        for _ in range(primaries + replicas):
            self.nodes.append(self._made())
        first, followers = self.nodes[:primaries], self.nodes[primaries:]
        edges = [SLOTS * number // primaries for number in range(primaries + 1)]
        slots = {node.id: f"{edges[n]}-{edges[n + 1] - 1}" for n, node in enumerate(first)}
        follows = {node.id: first[n % primaries].id for n, node in enumerate(followers)}
        for node in self.nodes:
            node.seed(self.nodes, slots, follows)
        for node in self.nodes:
            node.start()

    def _made(self) -> Node:
        port = free_port()
        while port in {node.port for node in self.nodes} or listens(port + BUS):
            port = free_port()
        proxy = Proxy(port) if self._proxied else None
        bus = self._bus if self._parted else None
        id = secrets.token_hex(20)
        return Node(self.name, id, port, self.timeout_ms, *self.args, proxy=proxy, host=self._host, bus=bus)

    def _views(self) -> list[list[Line]]:
        return [node.view() for node in self.running()]

    def _view(self) -> list[Line]:
        """What is known by the one that has heard of the latest change."""
        return max(self._views(), key=lambda view: max((line.epoch for line in view if line.slots), default=0))

    def _agrees(self) -> bool:
        """Whether all know the same owners of all slots."""
        owners = [{line.id: line.slots for line in view if line.slots} for view in self._views()]
        return sum(map(len, owners[0].values())) == SLOTS and all(each == owners[0] for each in owners)

    def _serves(self) -> bool:
        views = self._views()
        shared = {tuple(sorted((line.id, len(line.slots), line.primary) for line in view)) for view in views}
        there = {node.id for node in self.running()}
        known = [line for view in views for line in view if line.id in there]
        return (
            len(shared) == 1
            and not any(line.flags & {"fail", "fail?", "handshake", "noaddr"} for line in known)
            and all(node.info("cluster").get("cluster_state") == "ok" for node in self.running())
            and all(node.info("replication").get("master_link_status", "up") == "up" for node in self.running())
        )

    def _until(self, happens: Callable[[], bool], what_not: str) -> None:
        def views() -> object:
            return [(node.port, [(line.id[:6], sorted(line.flags)) for line in node.view()]) for node in self.running()]

        until(happens, f"the cluster of {self.name} {what_not}", views)


def slot_of(key: str | bytes) -> int:
    """The slot of a key, that of its hash tag if it has one, counted by Python's own CRC."""
    octets = key.encode() if isinstance(key, str) else key
    _, braced, rest = octets.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return binascii.crc_hqx(tag if braced and closed and tag else octets, 0) % SLOTS
