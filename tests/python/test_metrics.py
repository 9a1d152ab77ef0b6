"""What is counted: exactly what happened, by name, in a process and what it forks, and never a key."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from metrics_helper import counted, decisions, free_port, of_text, only
from servers import Server

SYNC_AND_ASYNC = [
    pytest.param(
        "from quotalock.testing import set_time\n"
        "client = quotalock.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60.0)\ncall = lambda make: make",
        id="sync",
    ),
    pytest.param(
        "from quotalock.aio.testing import set_time\n"
        "client = aio.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60.0)\nloop = asyncio.new_event_loop()\n"
        "call = loop.run_until_complete",
        id="asyncio",
    ),
]


@pytest.mark.parametrize("beginning", SYNC_AND_ASYNC)
def test_decisions_are_counted_by_limiter_result_and_source(beginning: str, url: str, prefix: str) -> None:
    script = """
n, tried = client.limiter("n", "3/hour"), client.limiter("tried", "1/hour", enforce=False)
assert [call(n.consume("secret:42")).source for _ in range(5)] == ["redis"] * 4 + ["deny-cache"]
try:
    call(n.require("secret:42"))
    raise AssertionError("it was admitted")
except quotalock.RateLimited:
    pass
[call(tried.consume("k")) for _ in range(3)]
call(n.peek("k")), call(n.consume("k", 0)), call(n.refund("k", 1)), call(n.reset("k"))
ahead = client.limiter("ahead", "100/hour", prefetch=10)
[call(ahead.consume("k")) for _ in range(10)]
call(client.consume_all([(n, "a", 1), (tried, "k", 1)]))
call(client.close())
"""
    counts = counted(beginning + script, url, prefix)
    all_decisions = decisions(counts)
    # How many are taken at once is the prefetch's own affair.
    asked, spent = (all_decisions.pop(("ahead", "allowed", source)) for source in ("redis", "lease"))
    assert asked + spent == 10
    assert spent >= 5
    assert all_decisions == {
        ("n", "allowed", "redis"): 4,
        ("n", "denied", "redis"): 1,
        ("n", "denied", "deny-cache"): 2,
        ("tried", "allowed", "redis"): 1,
        ("tried", "would_deny", "redis"): 3,
    }
    assert not any("secret" in name for name in counts)
    # Four of n, the three tried, those that took permits, one of both, four that decide nothing, what was given back.
    assert counts["call_duration_seconds_count{kind=limiter}"] == 4 + 3 + asked + 1 + 4 + 1
    assert 0 < counts["call_duration_seconds_sum{kind=limiter}"] < 60


def test_memory_is_counted_as_its_own_source() -> None:
    counts = counted("n = quotalock.Client(url).limiter('n', '2/hour')\n[n.consume('k') for _ in range(5)]")
    assert decisions(counts) == {("n", "allowed", "memory"): 2, ("n", "denied", "memory"): 3}
    assert counts["call_duration_seconds_count{kind=limiter}"] == 0, "nobody was called"


@pytest.mark.parametrize(
    ("on_error", "expected"),
    [("raise", ("error", "redis")), ("open", ("allowed", "open")), ("closed", ("denied", "closed"))],
)
def test_a_server_that_is_away_shows_in_decisions_and_in_its_breaker(on_error: str, expected: tuple[str, str]) -> None:
    port = free_port()
    script = f"""
client = quotalock.Client(url, on_error="{on_error}")
n = client.limiter("n", "2/hour")
for _ in range(3):
    try:
        n.consume("k")
    except quotalock.Unavailable:
        pass
"""
    counts = counted(script, f"redis://user:s3cret@127.0.0.1:{port}")
    assert decisions(counts) == {("n", *expected): 3}
    server = f"{{server=127.0.0.1:{port},trouble=unreachable}}"
    assert only(counts, "breaker_opened_total")[server] == 1
    # A refused connection costs so little that the breaker may be closed by now.
    assert only(counts, "breaker_open")[server] in (0, 1)
    assert not any("s3cret" in name for name in counts)


def test_a_breaker_is_open_while_calls_are_refused_and_closed_when_one_was_answered() -> None:
    with Server("redis-7.0") as server, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        # Its queue is full: who connects waits.
        fillers = [socket.socket() for _ in range(2)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(silent.getsockname())
        script = f"""
import re
def told(server):
    text = quotalock.prometheus()
    return re.search('breaker_open{{server="' + server + '",trouble="unreachable"}} (.)', text)[1]
away = quotalock.Client("redis://127.0.0.1:{silent.getsockname()[1]}", timeout=0.4)
try:
    away.limiter("n", "1/hour").consume("k")
    raise AssertionError("it was answered")
except (quotalock.Timeout, quotalock.Unavailable):
    pass
assert told("127.0.0.1:{silent.getsockname()[1]}") == "1"
here = quotalock.Client("{server.url}", timeout=10.0)
here.limiter("n", "1/hour").consume("k")
assert told("127.0.0.1:{server.port}") == "0"
"""
        counted(script)
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize("beginning", SYNC_AND_ASYNC)
def test_locks_are_counted_together_and_without_their_names(beginning: str, url: str, prefix: str) -> None:
    script = """
one, other = client.lock("sku:42", ttl=10.0), client.lock("sku:42", ttl=10.0)
assert call(one.acquire())
assert not call(other.acquire(wait=0.0)) and not call(other.acquire(wait=0.05))
assert call(one.release()) and not call(one.release())
assert call(other.acquire(wait=1.0))
assert call(client.lock("sku:42").force_release()) == 1
assert not call(other.extend())
assert other.state == "lost"
call(client.close())
"""
    counts = counted(beginning + script, url, prefix)
    assert only(counts, "lock_acquisitions_total") == {
        "{result=acquired}": 2,
        "{result=refused}": 2,
        "{result=error}": 0,
    }
    assert (counts["locks_lost_total{}"], counts["lock_releases_total{}"]) == (1, 1)
    assert counts["lock_wait_seconds_count{}"] == 4
    assert 0.05 < counts["lock_wait_seconds_sum{}"] < 30
    assert counts["lock_hold_seconds_count{}"] == 2
    assert 0.05 < counts["lock_hold_seconds_sum{}"] < 30
    assert counts["call_duration_seconds_count{kind=lock}"] > 5
    assert not any("sku" in name for name in counts)


def test_an_acquisition_without_a_server_is_an_error() -> None:
    script = """
lock = quotalock.Client(url).lock("k")
try:
    lock.acquire()
    raise AssertionError("it was granted")
except quotalock.Unavailable:
    pass
"""
    counts = counted(script, f"redis://127.0.0.1:{free_port()}")
    assert counts["lock_acquisitions_total{result=error}"] == 1
    assert counts["lock_wait_seconds_count{}"] == 0, "an error says nothing of waiting"


@pytest.mark.parametrize("beginning", SYNC_AND_ASYNC)
def test_takes_are_counted_by_stock_and_outcome(beginning: str, url: str, prefix: str) -> None:
    script = """
sale, other, closed = client.stock("sale"), client.stock("other"), client.stock("never opened")
call(sale.open(3, per_buyer=2)), call(other.open(1))
assert [call(sale.take(buyer, n)).outcome for buyer, n in [("a", 2), ("a", 1), ("b", 2)]] == [
    "held", "buyer_limit", "sold_out"]
assert call(closed.take("a", 1)).outcome == "not_open"
assert call(client.take_all([(sale, 1), (other, 1)], "c")).outcome == "held"
assert call(client.take_all([(sale, 1), (other, 1)], "d")).outcome == "sold_out"
assert call(sale.close()) is not False and call(sale.take("e", 1)).outcome == "ended"
call(client.close())
"""
    counts = only(counted(beginning + script, url, prefix), "stock_takes_total")
    by_both = {name: count for name, count in counts.items() if "sold_out" not in name}
    assert by_both == {
        "{outcome=held,stock=sale}": 2,
        "{outcome=buyer_limit,stock=sale}": 1,
        "{outcome=ended,stock=sale}": 1,
        "{outcome=held,stock=other}": 1,
        "{outcome=not_open,stock=never opened}": 1,
    }
    # Of two that were sold out the first by its key says so.
    assert sum(count for name, count in counts.items() if "sold_out" in name) == 2


@pytest.mark.parametrize("beginning", SYNC_AND_ASYNC)
def test_what_callers_of_a_cache_come_to_is_counted(beginning: str, url: str, prefix: str) -> None:
    script = """
home = client.cache("home", fresh=0.2, stale=60.0, beta=0.0, error_ttl=60.0)
call(set_time(client, 1_700_000_000_000_000))
def load():
    return b"x"
def fail():
    raise ValueError("no")
call(home.get("secret:42", load)), call(home.get("secret:42", load))
call(set_time(client, 1_700_000_000_250_000))
call(home.get("secret:42", load))
for _ in range(2):
    try:
        call(home.get("bad", fail))
        raise AssertionError("it loaded")
    except (ValueError, quotalock.LoadFailed):
        pass
call(home.get_many(["secret:42", "z"], lambda missing: {key: b"y" for key in missing}))
call(client.close())
"""
    counts = counted(beginning + script, url, prefix)
    assert only(counts, "cache_gets_total") == {
        # The first, the refresh of what was stale, the one that failed, and one of two.
        "{cache=home,result=loaded}": 4,
        "{cache=home,result=hit}": 2,
        "{cache=home,result=error}": 1,
    }
    assert not any("secret" in name for name in counts)


def test_those_who_wait_for_another_to_load_are_counted_as_such(url: str, prefix: str) -> None:
    script = """
import threading
home = quotalock.Client(url, prefix=prefix, timeout=10.0).cache("home", fresh=60.0)
def load():
    begun.set()
    # The others have asked by then.
    time.sleep(3)
    return b"x"
begun = threading.Event()
first = threading.Thread(target=home.get, args=("k", load))
first.start()
begun.wait()
others = [threading.Thread(target=home.get, args=("k", load)) for _ in range(5)]
[thread.start() for thread in others]
[thread.join() for thread in [first, *others]]
"""
    gets = only(counted(script, url, prefix), "cache_gets_total")
    assert gets == {"{cache=home,result=loaded}": 1, "{cache=home,result=waited}": 5}


@pytest.mark.parametrize("beginning", SYNC_AND_ASYNC)
def test_who_is_the_first_is_counted(beginning: str, url: str, prefix: str) -> None:
    script = """
orders = client.once("orders")
assert call(orders.claim("o1")).first and not call(orders.claim("o1")).first
assert call(orders.run("o2", lambda: b"r")) == call(orders.run("o2", lambda: b"r"))
call(client.close())
"""
    counts = counted(beginning + script, url, prefix)
    assert only(counts, "once_total") == {"{once=orders,result=first}": 2, "{once=orders,result=repeated}": 2}
    assert counts["call_duration_seconds_count{kind=once}"] >= 5
    assert counts["call_duration_seconds_count{kind=cache}"] == 0


def test_what_was_healed_is_counted(url: str, prefix: str) -> None:
    script = """
from quotalock import testing
client = quotalock.Client(url, prefix=prefix, timeout=10.0)
n = client.limiter("n", "5/hour")
testing.put(client, n.redis_key("k"), "string", b"x")
assert n.consume("k").healed
"""
    counts = counted(script, url, prefix)
    assert only(counts, "healed_total") == {"{kind=limiter}": 1, "{kind=lock}": 0}


def test_it_can_be_switched_off() -> None:
    script = """
assert quotalock.Client(url).limiter("n", "5/hour").consume("k")
assert quotalock.metrics() == [] and quotalock.prometheus() == ""
"""
    assert counted(script, QUOTALOCK_METRICS="off") == {}


def test_names_of_any_text_are_labels_that_can_be_read() -> None:
    names = ['a"b', "c\\d", "e\nf", "g{h=1}", "ü#i"]
    script = f"""
client = quotalock.Client(url)
for name in {names!r}:
    client.limiter(name, "5/hour").consume("k")
"""
    found = {limiter for limiter, _, _ in decisions(counted(script))}
    assert found == {'a"b', "c\\d", "e\ufffdf", "g{h=1}", "ü#i"}


def test_children_count_with_their_parent_also_when_they_are_killed() -> None:
    script = """
import signal
client = quotalock.Client(url)
before = client.limiter("before", "1000000/hour")
before.consume("k")
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        [before.consume("k") for _ in range(100)]
        [client.limiter("after", "1000000/hour").consume("k") for _ in range(10)]
        os.kill(os.getpid(), signal.SIGKILL)
    children.append(child)
[os.waitpid(child, 0) for child in children]
"""
    assert decisions(counted(script)) == {("before", "allowed", "memory"): 301, ("after", "allowed", "memory"): 30}


APP = """
import multiprocessing, os, quotalock
limiter = quotalock.Client({url!r}, prefix={prefix!r}, timeout=10.0).limiter("page", "1000000/hour")
two = multiprocessing.Barrier(2)
def app(environ, start_response):
    if environ["PATH_INFO"] == "/two":
        two.wait(20)
    if environ["PATH_INFO"] == "/metrics":
        body = quotalock.prometheus().encode()
    else:
        limiter.consume("k")
        body = str(os.getpid()).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


@pytest.fixture
def gunicorn(tmp_path: Path, url: str, prefix: str) -> Iterator[str]:
    """A preloaded app with three workers."""
    (tmp_path / "app.py").write_text(APP.format(url=url, prefix=prefix))
    # Nobody else can take the port.
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    command = [
        "-m",
        "gunicorn",
        "--preload",
        "--workers=3",
        f"--bind=fd://{listener.fileno()}",
        "--no-control-socket",
        "--chdir",
        str(tmp_path),
        "app:app",
    ]
    inherited = [listener.fileno()]
    with subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL, pass_fds=inherited) as server:
        listener.close()
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(address + "/metrics", timeout=5).read()
                break
            except OSError:
                assert time.monotonic() < deadline, "gunicorn does not answer"
                time.sleep(0.05)
        yield address
        server.terminate()


def test_whichever_worker_of_gunicorn_is_asked_tells_of_all(gunicorn: str) -> None:
    def ask(path: str) -> bytes:
        body: bytes = urllib.request.urlopen(gunicorn + path, timeout=30).read()
        return body

    # The kernel chooses who answers, so two meet: a worker answers one request at a time.
    with ThreadPoolExecutor(2) as both:
        assert len(set(both.map(ask, ["/two"] * 2))) == 2
    for _ in range(58):
        ask("/")
    for _ in range(5):
        assert decisions(of_text(ask("/metrics").decode())) == {("page", "allowed", "redis"): 60}


def test_a_file_that_cannot_be_used_is_warned_of_and_it_counts_on(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * 100)
    os.chmod(tmp_path / "other", 0o600)
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import quotalock\nquotalock.Client('memory://').limiter('n', '1/s').consume('k')\n"
            "print(quotalock.prometheus())",
        ],
        env={**os.environ, "QUOTALOCK_METRICS_FILE": str(tmp_path / "other")},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "RuntimeWarning: metrics file" in run.stderr
    assert "is not a table of metrics" in run.stderr
    assert decisions(of_text(run.stdout)) == {("n", "allowed", "memory"): 1}
