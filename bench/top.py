"""`python3 bench/top.py`: how long `quotalock top --keys` takes on 100,000 keys of a limiter, next to plain reading.

Plain reading is a `SCAN` in pages of 1,000 keys, and a `GET` and a `PTTL` for each key, one page after another, by
hiredis, without a look at the values. Both are measured by turns on one server. `--keys N` changes how many there are,
`--quick` looks at few of them once. The table goes to target/bench-top/table.md too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hiredis
import machine
import redis

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

from servers import Server

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target" / "release" / "quotalock"
PAGE = 1_000
ROUNDS = 5
# The state of a key that a client has written, for as many keys as are wanted.
FILL = """
local state, ttl = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
for i = 1, ARGV[1] do redis.call('SET', 'ql:limit:api:{user:' .. i .. '}', state, 'PX', ttl) end
redis.call('DEL', KEYS[1])
"""


def fill(server: Server, keys: int) -> None:
    """Puts that many keys of the limiter `api` there."""
    import quotalock

    with quotalock.Client(server.url, timeout=10.0) as client:
        limiter = client.limiter("api", "100/hour")
        limiter.consume("seed")
        key = limiter.redis_key("seed")
    with redis.Redis.from_url(server.url, socket_timeout=60) as plain:
        plain.eval(FILL, 1, key, keys)


def packed(*words: str | int | bytes) -> bytes:
    """A command as it is sent."""
    pack: Any = hiredis.pack_command
    return bytes(pack(words))


def read_plainly(server: Server) -> int:
    """Reads all keys and says how many there were."""
    with redis.Redis.from_url(server.url) as plain:
        connection = plain.connection_pool.get_connection()
        read, cursor = 0, b"0"
        try:
            while True:
                connection.send_packed_command([packed("SCAN", cursor, "MATCH", "ql:limit:*:{*", "COUNT", PAGE)])
                cursor, keys = connection.read_response(disable_decoding=True)
                asked = [packed(name, key) for key in keys for name in ("GET", "PTTL")]
                connection.send_packed_command([b"".join(asked)])
                for _ in asked:
                    connection.read_response(disable_decoding=True)
                read += len(keys)
                if cursor == b"0":
                    return read
        finally:
            connection.disconnect()


def top(server: Server) -> int:
    """Has `top` look once, and says at how many keys it looked."""
    words = [str(PROGRAM), "--url", server.url, "--prefix", "ql", "top", "--keys", "--once"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(said.split(" ", 1)[0].replace(",", ""))


def measured(server: Server, look: Callable[[Server], int], keys: int) -> tuple[float, float, float]:
    """The seconds that a look takes, and the CPU of the server and of the client for it."""
    began, worked, own = time.monotonic(), machine.cpu_us(server.pid), sum(os.times()[:4])
    seen = look(server)
    took, worked = time.monotonic() - began, (machine.cpu_us(server.pid) - worked) / 1e6
    assert seen == keys, f"{look.__name__} saw {seen} of {keys} keys"
    return took, worked, sum(os.times()[:4]) - own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    keys, rounds = (1_000, 1) if given.quick else (given.keys, ROUNDS)
    if not PROGRAM.exists():
        sys.exit(f"bench: {PROGRAM.relative_to(ROOT)} is missing: cargo build --release -p quotalock-cli")
    looks = {"`top --keys`": top, "`SCAN`, `GET` and `PTTL`": read_plainly}
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in looks}
    with Server("redis-7.0") as server:
        fill(server, keys)
        others = machine.Others(server.pid)
        for _ in range(rounds):
            for name, look in looks.items():
                found[name].append(measured(server, look, keys))
        share = others.share()
    lines = [
        f"{keys:,} keys on {machine.description()}; the best of {rounds}; load {machine.load():.1f}, "
        f"others' share of the cores {share:.0%}",
        "",
        "| | seconds | CPU of the server | of the client |",
        "|---|---:|---:|---:|",
    ]
    for name, times in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{min(column):.2f}" for column in zip(*times, strict=True)) + " |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    target = ROOT / "target" / "bench-top"
    target.mkdir(parents=True, exist_ok=True)
    (target / "table.md").write_text(text)


if __name__ == "__main__":
    main()
