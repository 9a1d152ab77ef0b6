"""A server that forgets scripts: newer ones keep 500 of those that came by EVAL, so others' push ours out."""

from __future__ import annotations

import re

import pytest
import quotalock
from servers import Server

KEPT = 500


def evicted(server: Server) -> int:
    found = re.search(r"evicted_scripts:(\d+)", server.command("INFO", "memory") + server.command("INFO", "stats"))
    return int(found[1]) if found else -1


@pytest.mark.parametrize("name", ["redis-7.0", "valkey-9.1"])
def test_who_pushes_our_scripts_out_changes_no_answer(name: str) -> None:
    with Server(name) as server, quotalock.Client(server.url, timeout=10.0) as client:
        limiter = client.limiter("checkout", "10/minute;100/hour")
        sale, pages, payments = client.stock("sale"), client.cache("pages"), client.once("payments")
        assert sale.open(10)
        for turn in range(3):
            before = evicted(server)
            for number in range(KEPT + 1):
                server.command("EVAL", f"return {turn} + {number}", "0")
            # Redis 7.0 and older keep them all.
            assert before == -1 or evicted(server) > before
            assert limiter.consume("user:42").remaining == 9 - turn
            with client.lock("sku:42", wait=0.0) as lock:
                assert lock.extend(20.0)
            assert sale.take(f"user:{turn}").available == 9 - turn
            assert pages.get("home", lambda: b"<h1>Home</h1>") == b"<h1>Home</h1>"
            assert payments.run(f"order:{turn}", lambda: b"receipt") == b"receipt"
        if name.startswith("valkey"):
            assert evicted(server) > 0
