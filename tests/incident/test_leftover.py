"""What the incident leaves in Redis, `-37412` without a TTL, does no harm under our own key."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import quotalock
from needs import EXTENSION
from play import OUR_KEY
from quotalock import testing
from rediskey import RedisKey

SCRIPT = """
$limiter = (new Quotalock\\Client(prefix: getenv('PREFIX'), timeoutMs: 10000))->limiter('checkout', '1/minute');
$show = fn ($decision) => ['allowed' => $decision->allowed, 'healed' => $decision->healed];
echo json_encode([
    'key' => $limiter->redisKey('hot-item'),
    'first' => $show($limiter->consume('hot-item')),
    'second' => $show($limiter->consume('hot-item')),
]);
"""


def test_the_first_call_heals_it(server_url: str, request: pytest.FixtureRequest) -> None:
    prefix = "leftover"
    client = quotalock.Client(server_url, prefix=prefix, timeout=10.0)
    key = client.limiter("checkout", "1/minute").redis_key("hot-item")
    testing.put(client, key, "string", b"-37412")
    assert testing.get(client, key) == (b"-37412", None)

    answer = php(SCRIPT, QUOTALOCK_URL=server_url, PREFIX=prefix)

    assert answer == {
        "key": key.decode(),
        "first": {"allowed": True, "healed": True},
        "second": {"allowed": False, "healed": False},
    }
    port = urlsplit(server_url).port
    assert port is not None
    with RedisKey(port, key) as watched:
        look = watched.look()
    assert 0 < look.ttl_ms <= 120_000
    assert not look.is_dead


def test_the_demo_watches_the_key_that_the_limiter_writes() -> None:
    with quotalock.Client("memory://leftover") as client:
        assert client.limiter("checkout", "1/100ms").redis_key("hot-item") == OUR_KEY


def php(code: str, **env: str) -> object:
    run = subprocess.run(
        ["php", "-d", f"extension={EXTENSION}", "-r", code],
        env=os.environ | env,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)
