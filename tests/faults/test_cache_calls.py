"""What becomes of a cache's calls whose callers or whose server are gone: nobody has a lease, and no value is lost."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import measure
import pytest
import quotalock
from proxy import Proxy
from servers import ROOT, Server
from workers import LANGUAGES

# In a process of its own, that has no thread yet: asks, connecting for that, and is cancelled after so many seconds.
CANCELLED = """
import asyncio, sys
from quotalock import aio

async def body():
    async with aio.Client(sys.argv[1], prefix="cancelled", timeout=5.0) as client:
        pages = client.cache("pages", lease=60.0)
        key = sys.argv[2] + sys.argv[3]
        ways = {"one": lambda: pages.get(key, never), "many": lambda: pages.get_many([key], never)}
        task = asyncio.ensure_future(ways[sys.argv[2]]())
        await asyncio.sleep(float(sys.argv[3]))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # It arrives after its task has ended, and what takes it back after that.
        await asyncio.sleep(3)

async def never(*_):
    raise asyncio.CancelledError

asyncio.run(body())
"""


@pytest.mark.parametrize("way", ["one", "many"])
def test_a_question_whose_task_was_cancelled_leaves_no_lease(server: Server, way: str) -> None:
    with Proxy(server.port) as proxy, quotalock.Client(server.url, prefix="cancelled", timeout=10.0) as client:
        proxy.faults.late = 0.15
        after = [f"{tenths / 20}" for tenths in range(1, 17)]
        asked = [subprocess.Popen([sys.executable, "-c", CANCELLED, proxy.url, way, seconds]) for seconds in after]
        assert [process.wait(timeout=60) for process in asked] == [0] * len(asked)
        pages = client.cache("pages")
        free = {seconds: pages.get(way + seconds, lambda: "x", wait=0.0) for seconds in after}
        assert free == dict.fromkeys(after, b"x")


# Gets many keys, which its loader makes, then many more, for which it fails. Each time it says that it loads, and waits
# until it is told to go on. Argument: the url.
PARTS = {
    "python": [
        sys.executable,
        "-c",
        """
import sys, quotalock
pages = quotalock.Client(sys.argv[1], prefix="several", timeout=10.0).cache("pages")
keys = [f"key:{n}" for n in range(200)]
pages.get_many(["a", "b"], lambda missing: dict.fromkeys(missing, "x"))
def load(missing):
    print("loading", flush=True)
    sys.stdin.readline()
    return {key: key * 3 for key in missing}
def fail(missing):
    load(missing)
    raise ZeroDivisionError
assert pages.get_many(keys, load) == {key: (key * 3).encode() for key in keys}
assert pages.get_many(keys, fail) == {key: (key * 3).encode() for key in keys}
try:
    pages.get_many([f"new:{n}" for n in range(200)], fail)
except ZeroDivisionError:
    print("done", flush=True)
""",
    ],
    "php": [
        *LANGUAGES["php"][:-1],
        "-r",
        """
$pages = (new Quotalock\\Client($argv[1], prefix: 'several', timeoutMs: 10000))->cache('pages');
$keys = array_map(fn ($n) => "key:$n", range(0, 199));
$tripled = fn ($missing) => array_combine($missing, array_map(fn ($key) => str_repeat($key, 3), $missing));
$pages->getMany(['a', 'b'], $tripled);
$load = function ($missing) use ($tripled) {
    echo "loading\\n";
    fgets(STDIN);
    return $tripled($missing);
};
$fail = function ($missing) use ($load) {
    $load($missing);
    throw new DomainException('none');
};
$got = [$pages->getMany($keys, $load), $pages->getMany($keys, $fail)];
try {
    $pages->getMany(array_map(fn ($n) => "new:$n", range(0, 199)), $fail);
} catch (DomainException $e) {
    echo $got === [$tripled($keys), $tripled($keys)] ? "done\\n" : "other values\\n";
}
""",
    ],
}


def scripts(server: Server) -> int:
    """How many script calls the server got so far."""
    count = re.search(r"cmdstat_evalsha:calls=(\d+)", server.command("INFO", "commandstats"))
    return int(count[1]) if count else 0


@pytest.mark.parametrize("language", PARTS)
def test_several_values_are_stored_in_one_round_trip(server: Server, language: str) -> None:
    with Proxy(server.port) as proxy:
        asked = subprocess.Popen(
            [*PARTS[language], proxy.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert asked.stdin is not None
        assert asked.stdout is not None
        for _ in range(2):
            assert asked.stdout.readline() == "loading\n"
            before = scripts(server)
            # No answer comes before all that there is to say was said.
            proxy.faults.held = True
            asked.stdin.write("\n")
            asked.stdin.flush()
            end = time.monotonic() + 9
            while (calls := scripts(server) - before) < 200:
                assert time.monotonic() < end, f"after {calls} it waits for an answer"
                time.sleep(0.01)
            proxy.faults.held = False
        assert asked.communicate(timeout=20)[0] == "done\n"


# Gets one key or two; its loader says so and waits. Arguments: the url, when_away, and "one" or "many".
LOADS = {
    "python": [
        sys.executable,
        "-c",
        """
import sys, quotalock
def load(*_):
    print("loading", flush=True)
    sys.stdin.readline()
    return "x"
pages = quotalock.Client(sys.argv[1], prefix="away", timeout=1.0).cache("pages", when_away=sys.argv[2])
try:
    if sys.argv[3] == "one":
        print(pages.get("one", load).decode())
    else:
        got = pages.get_many(["two", "three"], lambda missing: dict.fromkeys(missing, load()))
        print(b",".join(got.values()).decode())
except quotalock.QuotalockError as error:
    print(error.code)
""",
    ],
    "aio": [
        sys.executable,
        "-c",
        """
import asyncio, sys, quotalock
from quotalock import aio
async def load(*_):
    print("loading", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    return "x"
async def load_many(missing):
    return dict.fromkeys(missing, await load())
async def body():
    async with aio.Client(sys.argv[1], prefix="away", timeout=1.0) as client:
        pages = client.cache("pages", when_away=sys.argv[2])
        if sys.argv[3] == "one":
            return await pages.get("one", load)
        return b",".join((await pages.get_many(["two", "three"], load_many)).values())
try:
    print(asyncio.run(body()).decode())
except quotalock.QuotalockError as error:
    print(error.code)
""",
    ],
    "php": [
        *LANGUAGES["php"][:-1],
        "-r",
        """
$load = function () {
    echo "loading\\n";
    fgets(STDIN);
    return 'x';
};
$client = new Quotalock\\Client($argv[1], prefix: 'away', timeoutMs: 1000);
$pages = $client->cache('pages', whenAway: $argv[2]);
try {
    $got = $argv[3] === 'one'
        ? [$pages->get('one', $load)]
        : $pages->getMany(['two', 'three'], fn ($missing) => array_fill_keys($missing, $load()));
    echo implode(',', $got), "\\n";
} catch (Quotalock\\Exception\\QuotalockException $e) {
    echo $e->getErrorCode(), "\\n";
}
""",
        "--",
    ],
    "node": [
        "node",
        "-e",
        f"""
const {{ once }} = require('node:events')
const {{ Client }} = require({str(ROOT / "bindings-node/index.js")!r})
const [url, whenAway, way] = process.argv.slice(1)
const load = async () => {{
  console.log('loading')
  await once(process.stdin, 'data')
  process.stdin.pause()
  return 'x'
}}
const pages = new Client(url, {{ prefix: 'away', timeoutMs: 1000 }}).cache('pages', {{ whenAway }})
const many = async (missing) => {{
  const value = await load()
  return new Map(missing.map((key) => [key, value]))
}}
const get = async () =>
  way === 'one' ? [await pages.get('one', load)] : [...(await pages.getMany(['two', 'three'], many)).values()]
get().then((got) => console.log(got.join(',')), (error) => console.log(error.code))
""",
    ],
}


@pytest.mark.parametrize("end", ["killed", "mute"])
@pytest.mark.parametrize("way", ["one", "many"])
@pytest.mark.parametrize("language", LOADS)
def test_who_loads_when_redis_is_away_has_its_value(server: Server, language: str, way: str, end: str) -> None:
    told = {}
    for when_away in ("load", "raise"):
        server.command("FLUSHALL")
        with Proxy(server.port) as proxy, measure.Stalls() as stalls:
            words = [*LOADS[language], proxy.url, when_away, way]
            asked = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert asked.stdin is not None
            assert asked.stdout is not None
            assert asked.stdout.readline() == "loading\n"
            proxy.faults.mute = True
            if end == "killed":
                proxy.hang_up()
            began = time.monotonic()
            asked.stdin.write("\n")
            asked.stdin.flush()
            told[when_away] = asked.stdout.readline().strip()
            # The timeout of one call, and what it costs to free the way.
            assert time.monotonic() - began < 4 + stalls.worst
            asked.communicate(timeout=20)
    assert told["load"] == ("x" if way == "one" else "x,x")
    # Nobody knows whether it is stored, and who asked to be told is.
    assert told["raise"] in ("unavailable", "timeout")
