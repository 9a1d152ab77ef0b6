"""What a process with `on_error=local` admits while Redis comes and goes: no more by itself than one allowance.

`bench/local.py` prints the long form: three lengths of a flap, one process and eight.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from programs import PYTHON
from proxy import Proxy
from servers import ROOT, Server
from workers import Worker

sys.path.insert(0, str(ROOT / "bench"))

import local

LIMITER = {"limiter": "bound", "policy": "5/1h"}


@pytest.mark.parametrize("language", local.COMMANDS)
def test_flaps_of_fifty_milliseconds_admit_one_allowance_for_each_process(server: Server, language: str) -> None:
    counted = local.admitted(server, local.COMMANDS[language], 2, 0.05, 2.0)
    by_processes = counted.pop("local", 0)
    assert 0 < by_processes <= 2 * local.LIMIT
    assert counted.total() <= local.LIMIT


def sources(worker: Worker, calls: int) -> list[tuple[str, bool]]:
    answers = [worker.ask("consume", **LIMITER, key="k", cost=1)["result"] for _ in range(calls)]
    return [(answer["source"], answer["allowed"]) for answer in answers]


def until_redis(worker: Worker) -> None:
    """A look, which changes nothing, until Redis answers it."""
    while worker.decide("peek", **LIMITER, key="another", cost=1)["source"] != "redis":
        pass


def test_an_outage_begins_where_redis_ended_and_what_was_counted_stays_counted(worker: Worker, server: Server) -> None:
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, on_error="local")
        assert sources(worker, 3) == [("redis", True)] * 3
        proxy.faults.down = True
        proxy.hang_up()
        # Three of five are used, as Redis said.
        assert sources(worker, 4) == [("local", True)] * 2 + [("local", False)] * 2
        # Another client of the process knows it.
        worker.client(proxy.url, on_error="local")
        assert sources(worker, 1) == [("local", False)]
        proxy.faults.down = False
        until_redis(worker)
        assert sources(worker, 2) == [("redis", True)] * 2
        proxy.faults.down = True
        proxy.hang_up()
        assert sources(worker, 1) == [("local", False)]
        assert worker.decide("refund", **LIMITER, key="k", amount=5)["source"] == "local"
        assert sources(worker, 1) == [("local", False)], "a refund here gives nothing back that Redis counted"
        proxy.faults.down = False
        until_redis(worker)
        assert worker.decide("reset", **LIMITER, key="k") is True
        proxy.faults.down = True
        proxy.hang_up()
        assert sources(worker, 6) == [("local", True)] * 5 + [("local", False)], "a reset forgets everything here too"


def test_a_block_that_redis_has_taken_holds_without_it(worker: Worker, server: Server) -> None:
    with Proxy(server.port) as proxy:
        worker.client(proxy.url, on_error="local")
        worker.decide("block", **LIMITER, key="k", duration_ms=3_600_000)
        proxy.faults.down = True
        proxy.hang_up()
        answer = worker.ask("consume", **LIMITER, key="k", cost=1)["result"]
    assert (answer["source"], answer["allowed"], answer["remaining"]) == ("local", False, 0)
    assert answer["retry_after_ms"] > 3_500_000


MILLION = """
import json, os, resource, quotalock
client = quotalock.Client("redis://127.0.0.1:1", on_error="local")
limiter = client.limiter("million", "5/hour")
def memory():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
spent = [limiter.consume("spent").allowed for _ in range(6)]
before = memory()
for number in range(1_000_000):
    limiter.consume(f"user:{number}")
grown = memory() - before
child = os.fork()
if child == 0:
    # It begins with its own.
    os._exit(sum(limiter.consume("spent").allowed for _ in range(6)))
forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([spent, grown, limiter.consume("spent").allowed, forked]))
"""


def test_a_million_keys_cost_no_more_memory_than_there_is_for_them() -> None:
    ended = subprocess.run([*PYTHON, "-c", MILLION], check=True, capture_output=True, text=True)
    spent, grown, again, forked = json.loads(ended.stdout)
    assert spent == [True] * 5 + [False]
    assert grown < 64 << 20, f"{grown >> 20} MiB"
    assert again is False, "who is at the limit was forgotten for others"
    assert forked == 5
