"""`serve` with many browsers, many keys and keys that come and go: it stays small, and nobody waits for a slow one."""

from __future__ import annotations

import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from console import until
from member import Member
from quotalock import Client
from serving import Serving, logged_in

MB = 1 << 20
LIMIT = "checkout"
# A state is put together and sent each second; the machine may stand still for some.
NEWS_WITHIN = 15.0


def events(serving: Serving, *, reads: bool) -> socket.socket:
    """A browser that is told of states; of one that does not read little waits on its side."""
    browser = socket.socket()
    if not reads:
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    browser.settimeout(30)
    browser.connect(("127.0.0.1", serving.port))
    request = f"GET /api/events HTTP/1.1\r\nHost: {serving.host}\r\nCookie: {serving.cookie}\r\n\r\n"
    browser.sendall(request.encode())
    return browser


def newest(browser: socket.socket, seconds: float) -> Any:
    """Reads for so long, and then until a state comes that is of later."""
    text, ends, asked = b"", time.monotonic() + seconds, 0.0
    while True:
        text = (text + browser.recv(1 << 20))[-(1 << 20) :]
        if time.monotonic() < ends:
            continue
        asked = asked or time.time() * 1_000
        # Chunks end in the middle of a line, so their lengths are taken out of it.
        whole = text.replace(b"\r\n", b"\n").split(b"event: state\ndata: ")
        if len(whole) > 2:
            state = json.loads(whole[-2].split(b"\n")[0])
            if state["now_ms"] > asked:
                return state
        # What was put together meanwhile comes with the second after.
        assert time.monotonic() < ends + NEWS_WITHIN, "nothing new comes"


def browsers(serving: Serving) -> int:
    told = [line for line in serving.metrics().splitlines() if line.startswith("quotalock_serve_browsers ")]
    return int(told[0].split()[1])


def test_many_browsers_of_which_some_are_slow(redis: Member) -> None:
    limiter = Client(redis.url, timeout=10.0).limiter(LIMIT, "1/hour")
    [limiter.consume(f"user:{number}" + "x" * 500) for number in range(300)]
    with logged_in(redis.url) as serving, ExitStack() as all_browsers:
        serving.until("denied_total", lambda total: total == 300)
        readers = [all_browsers.enter_context(events(serving, reads=True)) for _ in range(25)]
        slow = [all_browsers.enter_context(events(serving, reads=False)) for _ in range(25)]
        until(lambda: browsers(serving) == 50)
        before = serving.memory
        states: list[Any] = []
        reading = [threading.Thread(target=lambda one=one: states.append(newest(one, 8.0))) for one in readers]
        for thread in reading:
            thread.start()
        for thread in reading:
            thread.join()
        # Those who read have heard what is new, and those who do not have cost little.
        assert len(states) == 25
        assert all(len(state["denied"]) == 100 for state in states)
        assert serving.memory - before < 25 * MB
        # Whoever comes is let in up to a number, and told why not beyond.
        more = [all_browsers.enter_context(events(serving, reads=True)) for _ in range(14)]
        until(lambda: browsers(serving) == 64)
        answer = serving.get("/api/events")
        assert (answer.status, answer.code) == (503, "too_many_browsers")
        # A browser that goes away frees its place.
        for one in (*readers, *slow, *more):
            one.close()
        until(lambda: browsers(serving) == 0)
        with serving.asked("GET", "/api/events") as stream:
            assert stream.status == 200


def test_who_logs_out_hears_no_more(redis: Member) -> None:
    with logged_in(redis.url) as serving, serving.asked("GET", "/api/events") as stream:
        assert stream.readline() == b"event: state\n"
        serving.post("/logout")
        over = time.time() * 1_000
        # It ends as a whole answer does. What came before that answer may lie there still.
        told = [json.loads(line[6:])["now_ms"] for line in stream.read().splitlines() if line.startswith(b"data: ")]
        assert len([now for now in told if now > over]) <= 1


@contextmanager
def churn(redis: Member) -> Iterator[None]:
    """Keys of ever new names come and go, and reports of ever new limiters come."""
    client, over = Client(redis.url, timeout=10.0), threading.Event()

    def works() -> None:
        number = 0
        while not over.is_set():
            number += 1
            client.limiter(f"limiter-{number}", "1/hour").consume(f"user:{number}")
            client.lock(f"lock-{number}", ttl=60.0).acquire(wait=0.0)
            redis.ask("SET", f"limit:{number}:x", "-1")
            report = ("limiter", f"reported-{number}", "decisions", f"allowed redis {number}")
            redis.ask("XADD", "ql:reports", "MAXLEN", "10000", "*", "v", "1", "ms", "900", *report)
            if number % 500 == 0:
                for name in (f"limit:{number}:x", f"ql:lock:{{lock-{number}}}"):
                    redis.ask("DEL", name)
            if number % 1_500 == 0:
                redis.ask("FLUSHALL")

    thread = threading.Thread(target=works)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.long
def test_keys_come_and_go_and_it_stays_small(redis: Member) -> None:
    with logged_in(redis.url) as serving, churn(redis):
        sizes, ends = [], time.monotonic() + 24
        while time.monotonic() < ends:
            state = serving.state
            assert state["problems"] == []
            assert all(len(state[name]) <= 100 for name in ("denied", "locks", "without_ttl"))
            assert len(state["limiters"]) <= 402
            sizes.append(serving.memory)
            time.sleep(0.25)
        # What there is room for is full after some seconds, and does not grow from then on.
        half = len(sizes) // 2
        assert max(sizes[half:]) - max(sizes[:half]) < 8 * MB, [size // MB for size in sizes]


def test_of_very_many_keys_the_worst_are_shown_and_all_are_counted(redis: Member) -> None:
    limiter = Client(redis.url, timeout=10.0).limiter(LIMIT, "1/hour")
    limiter.consume("one")
    one = f"ql:limit:{LIMIT}:{{one}}"
    copies = "for i = 1, 100000 do redis.call('SET', 'ql:limit:checkout:{u' .. i .. '}', value, 'PX', 3600000) end"
    redis.ask("EVAL", f"local value = redis.call('GET', '{one}') {copies}", "0")
    with logged_in(redis.url, "--rate", "100000") as serving:
        before = serving.memory
        serving.until("denied_total", lambda total: total == 100_001)
        state = serving.state
        assert state["limiters"][0]["keys"] == 100_001
        assert len(state["denied"]) == 100
        assert serving.get("/api/keys?list=denied&from=900").json["more"] is False
        # Answers come while it scans.
        took = []
        for _ in range(50):
            began = time.monotonic()
            assert serving.get("/healthz").status == 200
            took.append(time.monotonic() - began)
        assert statistics.median(took) < 0.1
        assert serving.memory - before < 30 * MB
