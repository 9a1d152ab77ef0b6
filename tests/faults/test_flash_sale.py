"""Takers of every language buy, one thing or a basket, while all goes wrong that may: nothing is sold twice or lost.

Faults are done in turn and one at a time; the last of them is the end of all takers in the midst of what they do.
"""

from __future__ import annotations

import os

from lock_load import Load
from proxy import Proxy
from sale_history import Report, check
from sale_load import LANES, Taker, Watcher, wait_for_the_end
from servers import Server
from trouble import Trouble

# Fewer than all buyers together may have: sales end sold out, and there is a limit to run into before.
QUANTITY, PER_BUYER = 20, 6
STOCKS = [f"sale:{number}" for number in range(12)]
SECONDS = float(os.environ.get("QUOTALOCK_TEST_SALE_SECONDS", "12"))
CREW = os.environ.get("QUOTALOCK_TEST_CREW", "python aio php php php node").split()
AOF = ("--appendonly", "yes", "--appendfsync", "always")


def test_nothing_is_oversold_lost_or_charged_twice() -> None:
    with (
        Server("redis-7.0", *AOF) as server,
        Proxy(server.port) as proxy,
        Load(STOCKS, caller=Taker, lanes=LANES) as load,
    ):
        watcher = Watcher(server.url, "history", STOCKS, QUANTITY)
        watcher.open(PER_BUYER)
        for language in CREW:
            load.start(language, proxy.url)
        load.wait_until_busy()
        trouble = Trouble(load, server, proxy)
        with watcher:
            network = [trouble.lose_replies, trouble.lose_replies, trouble.delay_replies, trouble.hang_up]
            ends = [trouble.kill_one, trouble.kill_one, trouble.freeze_worker, trouble.freeze_server, trouble.crash]
            trouble.run(SECONDS, *network, *ends)
        load.kill()
        wait_for_the_end(watcher, within=5)
        history, ledgers = load.history(), watcher.ledgers()
    report = check(history, ledgers, QUANTITY, PER_BUYER)
    print(f"lost replies: {proxy.counts.lost}")
    show(report, watcher, trouble)
    assert not report.problems, report.problems[:10]
    assert not watcher.odd, watcher.odd[:10]
    assert all(entries[-1].available + entries[-1].sold == QUANTITY for entries in ledgers.values())
    # Else it was not what it is to be.
    assert all(any(record["proc"].split()[0] == language for record in history) for language in CREW)
    assert min(report.kinds[kind] for kind in ("held", "confirmed", "cancelled", "expired")) > 20, report.kinds
    # A caller need not hear of either: nearly all is asked for again.
    assert min(proxy.counts.lost, trouble.done["crash"]) > 0, trouble.done
    assert min(report.told[f"take {outcome}"] for outcome in ("held", "sold_out")) > 0, report.told
    assert min(report.told[f"take_all {outcome}"] for outcome in ("held", "sold_out")) > 0, report.told
    assert min(report.told[f"{verb}_all true"] for verb in ("confirm", "cancel")) > 0, report.told
    assert report.repeated > 0
    assert watcher.looks > 100


def show(report: Report, watcher: Watcher, trouble: Trouble) -> None:
    """For whoever runs this with `pytest -s`, and for the report of a failure."""
    kinds, told, done = dict(report.kinds), dict(report.told), dict(trouble.done)
    print(f"{kinds=} {told=} {done=} unheard={report.unheard} repeated={report.repeated} looks={watcher.looks}")
