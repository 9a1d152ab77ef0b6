"""A cluster's bad days, while three languages call: each call counts once or not at all, and its caller knows which."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import measure
import pytest
import quotalock
from accounts import Record, Report, settle
from cluster import Cluster, slot_of
from cluster_load import LONGER, TIMEOUT_MS, ClusterLoad, counted
from cluster_node import Node
from proxy import Faults

SERVERS = ["redis-7.0", "valkey-9.1"]
AWAY = ("unavailable", "timeout")
# What a call may take beside its timeout, and the first success after a promotion.
BESIDE_MS, BACK_MS = 50, 100
REMEMBERS = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def several_keys(url: str) -> Iterator[list[str]]:
    """Charges two limiters at once all the while; answers what was wrong. A slot that is on its way has one of them."""
    wrong, over = [], threading.Event()

    def charge() -> None:
        with quotalock.Client(url, prefix="both", timeout=TIMEOUT_MS / 1000) as client:
            limiters = [client.limiter(which, "1000000/1h") for which in ("one", "two")]
            made = 0
            while not over.is_set():
                for key in range(12):
                    decided = client.consume_all([(limiter, f"k{key}") for limiter in limiters])
                    if not decided.allowed:
                        wrong.append(f"k{key} was denied")
                made += 1
            for key in range(12):
                used = [1_000_000 - limiter.peek(f"k{key}").remaining for limiter in limiters]
                if used != [made, made]:
                    wrong.append(f"k{key} was charged {used} times, not {made}")

    def run() -> None:
        try:
            charge()
        except quotalock.QuotalockError as error:
            wrong.append(repr(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield wrong
    over.set()
    thread.join(30)
    assert not thread.is_alive()


def check(
    load: ClusterLoad, history: list[Record], url: str, *, forgets: bool = False, errors: tuple[str, ...] = ()
) -> Report:
    """Settles the accounts, and that no call took longer than it may."""
    report = settle(history, counted(url, history), forgets=forgets, errors=errors)
    slowest = measure.slowest_ms(history)
    print(report, f"slowest {slowest:.0f} ms, stalls {load.stalls.worst_ms:.0f} ms", sep="\n")
    assert not report.problems, report
    assert slowest <= load.timeout_ms + BESIDE_MS + load.stalls.worst_ms
    # Each language made many.
    assert min(sum(record["proc"] == proc for record in history) for proc in {r["proc"] for r in history}) > 200
    # No window is over its limit, but for what was lost.
    for record in history:
        if record["limiter"] == "window" and "error" not in record:
            assert record["result"]["remaining"] >= 0
    return report


def in_slots(history: list[Record], slots: frozenset[int]) -> list[Record]:
    """The calls whose keys are in these slots."""
    return [record for record in history if slot_of(bytes.fromhex(record["key"])) in slots]


def elsewhere(history: list[Record], slots: frozenset[int]) -> list[Record]:
    """The calls whose keys are in other slots."""
    return [record for record in history if slot_of(bytes.fromhex(record["key"])) not in slots]


def slots_of(node: Node) -> frozenset[int]:
    return next(line.slots for line in node.view() if line.id == node.id)


def back_ms(history: list[Record], promoted_ns: int) -> float:
    """How long after the promotion the first call succeeded, in the language in which it took longest."""
    found: list[float] = []
    for proc in {record["proc"] for record in history}:
        after = [r["ok_ns"] for r in history if r["proc"] == proc and "error" not in r and r["ok_ns"] > promoted_ns]
        found.append((min(after) - promoted_ns) / 1e6)
    return max(found)


def test_slots_move(name: str) -> None:
    with Cluster(name) as cluster, ClusterLoad(cluster.url) as load, several_keys(cluster.url) as wrong:
        slots = sorted({slot_of(key) for key in [*load.keys, *(f"k{n}" for n in range(12))]})
        time.sleep(1)
        for number in range(int(20 * LONGER)):
            slot = slots[number * 7 % len(slots)]
            others = [node for node in cluster.primaries() if node is not cluster.owner_of_slot(slot)]
            pause: Callable[[], None] = lambda: time.sleep(0.02)  # noqa: E731
            cluster.migrate_slot(slot, others[number % len(others)], pause)
            time.sleep(0.05)
        history = load.end()
        report = check(load, history, cluster.url)
        assert report.unknown == 0
        assert not report.errors
    assert not wrong


def test_a_replica_is_promoted_by_hand(name: str) -> None:
    """Redis holds the clients back until the replica has all: nothing is lost, and nobody is told of an error."""
    with Cluster(name, replicas=3) as cluster, ClusterLoad(cluster.url) as load:
        for number in range(int(3 * LONGER)):
            time.sleep(0.7)
            (replica,) = cluster.replicas_of(cluster.primaries()[number % 3])
            cluster.promote(replica)
            cluster.wait_until_it_serves()
        time.sleep(0.5)
        history = load.end()
        report = check(load, history, cluster.url, errors=())
        assert report.lost == 0


def test_a_primary_is_killed(name: str) -> None:
    with Cluster(name, replicas=3) as cluster, ClusterLoad(cluster.url) as load:
        late = []
        for number in range(int(LONGER)):
            time.sleep(1)
            primary = cluster.primaries()[number % 3]
            slots, (replica,) = slots_of(primary), cluster.replicas_of(primary)
            killed = time.monotonic_ns()
            primary.kill9()
            cluster.wait_until_promoted(replica)
            late.append((slots, killed, time.monotonic_ns()))
            time.sleep(1)
            cluster.up()
        history = load.end()
        report = check(load, history, cluster.url, forgets=True, errors=AWAY)
        for slots, killed, promoted in late:
            took = back_ms(in_slots(history, slots), promoted)
            print(f"killed {(promoted - killed) / 1e6:.0f} ms before the promotion, back {took:.0f} ms after it")
            assert took <= BACK_MS + load.stalls.worst_ms
            # Nobody else waits.
            others = elsewhere(history, slots)
            assert measure.slowest_ms(measure.during(others, killed, promoted)) < 300 + load.stalls.worst_ms
        # What the replica had not been told of yet when its primary was killed.
        assert report.lost <= 20 * len(late)


def test_a_primary_is_cut_off_from_the_other_servers(name: str) -> None:
    """Not from its clients: it refuses them, and its own map goes on naming itself."""
    with Cluster(name, replicas=3, parted=True) as cluster, ClusterLoad(cluster.url) as load:
        late = []
        for number in range(int(LONGER)):
            time.sleep(1)
            primary = cluster.primaries()[number % 3]
            slots, (replica,) = slots_of(primary), cluster.replicas_of(primary)
            began = time.monotonic_ns()
            cluster.cut(primary)
            cluster.wait_until_promoted(replica)
            promoted = time.monotonic_ns()
            time.sleep(1)
            cluster.heal()
            cluster.wait_until_it_serves()
            late.append((slots, began, promoted, time.monotonic_ns()))
        time.sleep(0.5)
        history = load.end()
        report = check(load, history, cluster.url, forgets=True, errors=AWAY)
        lost = 0
        for slots, began, promoted, healed in late:
            own = in_slots(history, slots)
            took = back_ms(own, promoted)
            print(f"cut off {(promoted - began) / 1e6:.0f} ms before the promotion, back {took:.0f} ms after it")
            assert took <= BACK_MS + load.stalls.worst_ms
            # What it granted before it noticed that it was cut off.
            lost += measure.admitted(measure.during(own, began - 10**9, healed))
        assert report.lost <= lost


def test_a_primary_is_paused_and_two_believe_to_be_it(name: str) -> None:
    with Cluster(name, replicas=3) as cluster, ClusterLoad(cluster.url) as load:
        late = []
        for number in range(int(LONGER)):
            time.sleep(1)
            primary = cluster.primaries()[number % 3]
            slots, (replica,) = slots_of(primary), cluster.replicas_of(primary)
            primary.freeze()
            cluster.wait_until_promoted(replica)
            late.append((slots, time.monotonic_ns()))
            time.sleep(1)
            primary.thaw()
            cluster.wait_until_it_serves()
        history = load.end()
        report = check(load, history, cluster.url, forgets=True, errors=AWAY)
        for slots, promoted in late:
            took = back_ms(in_slots(history, slots), promoted)
            print(f"back {took:.0f} ms after the promotion")
            # Those who wait for its answer notice when their time is over.
            assert took <= TIMEOUT_MS + BACK_MS + load.stalls.worst_ms
        # What was sent to it while it was paused is too late when it goes on: it counts nowhere.
        assert report.lost <= 20 * len(late)


def test_two_serve_the_same_slots(name: str) -> None:
    """The one that was cut off goes on serving those who do not know: what it counts then is lost, and only that."""
    for number in range(int(LONGER)):
        with Cluster(name, replicas=3) as cluster, ClusterLoad(cluster.url) as load:
            time.sleep(1)
            old = cluster.primaries()[number % 3]
            slots = slots_of(old)
            began = time.monotonic_ns()
            new = cluster.split(old)
            time.sleep(1)
            old.kill9()
            gone = time.monotonic_ns()
            time.sleep(1)
            assert new in cluster.primaries()
            history = load.end()
            report = check(load, history, cluster.url, forgets=True, errors=AWAY)
            both = in_slots(history, slots)
            # What its replica had not been told of when it was promoted, and what the old one granted after that.
            assert report.lost <= measure.admitted(measure.during(both, began - 10**9, gone))
            assert back_ms(both, gone) <= BACK_MS + load.stalls.worst_ms


def test_a_node_comes_and_goes(name: str) -> None:
    with Cluster(name) as cluster, ClusterLoad(cluster.url) as load:
        slots = [slot_of(key) for key in load.keys[::4]]
        time.sleep(0.5)
        for _ in range(int(LONGER)):
            added = cluster.add_node()
            before = {slot: cluster.owner_of_slot(slot) for slot in slots}
            for slot in slots:
                cluster.migrate_slot(slot, added)
            time.sleep(0.3)
            for slot in slots:
                cluster.migrate_slot(slot, before[slot])
            cluster.remove_node(added)
            time.sleep(0.3)
        history = load.end()
        report = check(load, history, cluster.url)
        assert not report.errors


def test_the_whole_cluster_is_down_and_back(name: str) -> None:
    with Cluster(name, *REMEMBERS) as cluster, ClusterLoad(cluster.url) as load:
        for _ in range(int(LONGER)):
            time.sleep(1)
            cluster.down()
            time.sleep(0.5)
            cluster.up()
            back = time.monotonic_ns()
            time.sleep(1.5)
            assert load
        history = load.end()
        check(load, history, cluster.url, errors=AWAY)
        assert back_ms(history, back) <= 1000 + load.stalls.worst_ms


def test_a_node_is_cut_off_from_clients(name: str) -> None:
    with Cluster(name, proxied=True) as cluster, ClusterLoad(cluster.url, timeout_ms=600, once=False) as load:
        parts = []
        for number in range(int(LONGER)):
            time.sleep(0.5)
            node = cluster.primaries()[number % 3]
            assert node.proxy is not None
            began = time.monotonic_ns()
            node.proxy.faults = Faults(mute=True)
            time.sleep(2)
            ended = time.monotonic_ns()
            node.proxy.hang_up()
            node.proxy.faults = Faults()
            parts.append((slots_of(node), began, ended))
        time.sleep(1.5)
        history = load.end()
        report = check(load, history, cluster.url, errors=AWAY)
        assert report.errors
        for slots, began, ended in parts:
            meanwhile = measure.during(history, began, ended)
            others = elsewhere(meanwhile, slots)
            # One node that does not answer is no reason to wait for the others.
            assert not measure.errors(others), measure.errors(others)[:3]
            assert len(others) > 200
            assert measure.slowest_ms(others) < load.timeout_ms / 2 + load.stalls.worst_ms


def test_a_wrong_password_on_one_node(name: str) -> None:
    with Cluster(name) as cluster, ClusterLoad(cluster.url) as load:
        parts = []
        for number in range(int(LONGER)):
            time.sleep(1)
            node = cluster.primaries()[number % 3]
            node.ask("CONFIG", "SET", "requirepass", "another")
            # Those that were there stay; new ones are refused.
            node.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            began = time.monotonic_ns()
            time.sleep(2)
            parts.append((node.address, slots_of(node), began, time.monotonic_ns()))
            node.ask("CONFIG", "SET", "requirepass", "")
        time.sleep(1.5)
        history = load.end()
        report = check(load, history, cluster.url, errors=("unavailable", "not_permitted"))
        for address, slots, began, ended in parts:
            meanwhile = measure.during(history, began, ended)
            refused = [record for record in in_slots(meanwhile, slots) if record.get("error") == "not_permitted"]
            assert refused
            assert all(address in record["message"] for record in refused)
            assert not measure.errors(elsewhere(meanwhile, slots))
        assert report.unknown < 50 * len(parts)


def test_replies_are_cut(name: str) -> None:
    with Cluster(name, proxied=True) as cluster, ClusterLoad(cluster.url) as load:
        for keep in (0, 7):
            for node in cluster.nodes:
                assert node.proxy is not None
                node.proxy.faults = Faults(lose=0.02, spare=4, keep=keep, reset=keep == 0)
            time.sleep(3 * LONGER)
        for node in cluster.nodes:
            assert node.proxy is not None
            node.proxy.faults = Faults()
        history = load.end()
        report = check(load, history, cluster.url, errors=("unavailable",))
        assert report.unknown > 0
