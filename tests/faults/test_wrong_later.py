"""What a client does when what was wrong is mended."""

from __future__ import annotations

import time

import pytest
import quotalock
from cluster import Cluster, slot_of


def test_a_hole_that_is_filled_is_found() -> None:
    with Cluster(primaries=2) as cluster, quotalock.Client(cluster.url, prefix="p", timeout=1.0) as client:
        owner = cluster.owner_of("hole")
        for node in cluster.nodes:
            node.ask("CLUSTER", "DELSLOTS", slot_of("hole"))
        limiter = client.limiter("l", "1000/h")
        with pytest.raises(quotalock.Unavailable, match=str(slot_of("hole"))):
            limiter.consume("hole")
        owner.ask("CLUSTER", "ADDSLOTS", slot_of("hole"))
        cluster.wait_until_it_serves()
        give_up = time.monotonic() + 5
        while True:
            try:
                assert limiter.consume("hole").allowed
                return
            except quotalock.Unavailable:
                assert time.monotonic() < give_up
                time.sleep(0.05)
