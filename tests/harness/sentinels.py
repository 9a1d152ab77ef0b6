"""A primary, its replicas, and the Sentinels that replace it: real processes on loopback.

The Sentinels are told of the replicas and of each other before they start, as they would have written it down
themselves, and look around five times a second in place of once in ten.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable

from member import Member, until
from program import free_port
from running import Running
from servers import ServerError

# In milliseconds. Sentinel promotes only a replica whose INFO is not older than five pings, and once the primary is
# gone it asks for INFO once a second: with quicker pings it often finds no replica, and then waits for four seconds.
PERIODS = {"INFO-PERIOD": 200, "PING-PERIOD": 300, "PUBLISH-PERIOD": 200, "ASK-PERIOD": 100, "ELECTION-TIMEOUT": 2000}
# In seconds, for a failover that a Sentinel gave up: longer than it tries.
ASKS_AGAIN = 5.0


class Sentinel(Member):
    """One Sentinel, with the port and the id that the others know."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.id, self.port = secrets.token_hex(20), free_port()

    def start(self, *, loaded: bool = True) -> None:
        """Starts it, with what it knew when it ended."""
        super().start(loaded=loaded)
        for period, ms in PERIODS.items():
            self.ask("SENTINEL", "DEBUG", period, ms)

    def seed(self, master: str, others: list[Sentinel], servers: list[Member], down_ms: int, extra: list[str]) -> None:
        """Writes down what it is to know when it starts; the first of the servers is the primary."""
        lines = [f"port {self.port}", "bind 127.0.0.1", "unixsocket socket", f"sentinel myid {self.id}"]
        lines += [f"sentinel monitor {master} 127.0.0.1 {servers[0].port} {len(others) // 2 + 1}"]
        lines += [f"sentinel down-after-milliseconds {master} {down_ms}", f"sentinel failover-timeout {master} 2000"]
        lines += [f"sentinel known-replica {master} 127.0.0.1 {each.port}" for each in servers[1:]]
        known = [each for each in others if each is not self]
        lines += [f"sentinel known-sentinel {master} 127.0.0.1 {each.port} {each.id}" for each in known]
        (self.folder / "sentinel.conf").write_text("\n".join([*lines, *extra]) + "\n")

    def primary_of(self, master: str) -> int:
        """The port of the one that it takes for the primary; 0 for a name that it does not know."""
        answer = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", master)
        return int(answer[1]) if answer else 0

    def _options(self, port: int) -> list[str]:
        return ["sentinel.conf", "--sentinel"]


class Sentinels(Running):
    """One primary with so many replicas, and three Sentinels; `args` are further options of the servers, `extra` lines
    of the Sentinels' file. A primary that is gone for `down_ms` is replaced."""

    def __init__(
        self,
        name: str = "redis-7.0",
        *args: str,
        replicas: int = 2,
        sentinels: int = 3,
        master: str = "shop",
        down_ms: int = 1000,
        extra: tuple[str, ...] = (),
    ) -> None:
        self.name, self.master, self.extra, self._down_ms = name, master, list(extra), down_ms
        self.servers = [Member(name, "--repl-diskless-sync-delay", "0", *args) for _ in range(1 + replicas)]
        self.sentinels = [Sentinel(name) for _ in range(sentinels)]
        # When a replica was first seen to be the next primary. Sentinel looks, and tells, within a second.
        self.turned_ns = 0

    @property
    def url(self) -> str:
        """The address for clients: that of all Sentinels, and the name."""
        return f"redis+sentinel://{','.join(each.address for each in self.sentinels)}/{self.master}"

    @property
    def primary(self) -> Member:
        """The server that most Sentinels take for the primary."""
        told = [each.primary_of(self.master) for each in self.sentinels if each.runs]
        port = max(told, key=told.count)
        return next(server for server in self.servers if server.port == port)

    def replicas(self) -> list[Member]:
        """The other servers."""
        primary = self.primary
        return [server for server in self.servers if server is not primary]

    def failover(self) -> Member:
        """Has the Sentinels replace a primary that is well, and returns the new one when they agree on it."""
        old = self.primary
        asked = next(each for each in self.sentinels if each.runs)

        def begun() -> bool:
            # Refused while one is under way, or no replica was looked at lately.
            return bool(asked.ask("SENTINEL", "FAILOVER", self.master) == "OK")

        def again() -> None:
            # It gives up one whose replica was busy for too long, and then waits for somebody to ask.
            with contextlib.suppress(ServerError):
                if asked.primary_of(self.master) == old.port:
                    begun()

        self._until(begun, "begins no failover")
        return self.wait_until_promoted(old, again)

    def wait_until_promoted(self, old: Member, again: Callable[[], None] = lambda: None) -> Member:
        """Returns the primary after this one, when all Sentinels that are there tell of it. While they do not, `again`
        is called now and then."""

        self.turned_ns = 0
        asks_at = time.monotonic() + ASKS_AGAIN

        def promoted() -> bool:
            nonlocal asks_at
            if time.monotonic() >= asks_at:
                asks_at = time.monotonic() + ASKS_AGAIN
                again()
            others = [server for server in self.servers if server.runs and server is not old]
            if not self.turned_ns and any(server.ask("ROLE")[0] == "master" for server in others):
                self.turned_ns = time.monotonic_ns()
            told = {each.primary_of(self.master) for each in self.sentinels if each.runs}
            return len(told) == 1 and old.port not in told and self.primary.ask("ROLE")[0] == "master"

        self._until(promoted, "promotes nobody")
        return self.primary

    def wait_until_it_serves(self) -> None:
        """Returns when all Sentinels that are there know all servers and Sentinels, and the replicas follow."""
        self._until(self._serves, "does not serve")

    def start(self) -> None:
        """Starts all, and returns once they serve."""
        primary = self.servers[0]
        for server in self.servers:
            if server is not primary:
                server.args = (*server.args, "--replicaof", "127.0.0.1", str(primary.port))
            server.start()
        for each in self.sentinels:
            each.seed(self.master, self.sentinels, self.servers, self._down_ms, self.extra)
            each.start()
        self.wait_until_it_serves()

    def close(self) -> None:
        """Ends all and removes their folders."""
        for member in [*self.sentinels, *self.servers]:
            member.close()

    def _serves(self) -> bool:
        primary = self.primary
        followers = [server for server in self.servers if server.runs and server is not primary]
        for each in self.sentinels:
            if not each.runs:
                continue
            told = each.ask("SENTINEL", "MASTER", self.master)
            seen = dict(zip(told[::2], told[1::2], strict=True))
            if seen["port"] != str(primary.port) or seen["flags"] != "master":
                return False
            replicas = [dict(zip(r[::2], r[1::2], strict=True)) for r in each.ask("SENTINEL", "REPLICAS", self.master)]
            well = {r["port"] for r in replicas if r["flags"] == "slave" and r["master-link-status"] == "ok"}
            if not {str(server.port) for server in followers} <= well:
                return False
        return primary.ask("ROLE")[0] == "master" and all(self._follows(server, primary) for server in followers)

    def _follows(self, server: Member, primary: Member) -> bool:
        """Whether it has all that the primary has by now, and from the primary itself: Sentinel takes a replica of a
        replica for one that is well, until it corrects that, even if it has promoted it meanwhile."""
        there = int(primary.info("replication")["master_repl_offset"])
        link = server.info("replication")
        is_follower = link["role"] == "slave" and link["master_link_status"] == "up"
        return is_follower and link["master_port"] == str(primary.port) and int(link["slave_repl_offset"]) >= there

    def _until(self, happens: Callable[[], bool], what_not: str) -> None:
        def masters() -> object:
            return [each.ask("SENTINEL", "MASTER", self.master) for each in self.sentinels if each.runs]

        until(happens, f"Sentinel of {self.name} {what_not}", masters)
