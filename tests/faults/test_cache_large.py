"""Many large values at once: the server answers a part of them at a time, and the caller sees nothing of that."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from servers import ROOT, Server
from workers import LANGUAGES

# Stores eight values of 400 KiB, says so, waits, and gets them with two that are missing; prints what its loader was
# asked for, the lengths of what it got, and what each begins with. Argument: the url.
GETS = {
    "python": [
        sys.executable,
        "-c",
        """
import json, sys, quotalock
pages = quotalock.Client(sys.argv[1], prefix="large", timeout=10.0).cache("pages")
keys, asked = [str(n) for n in range(10)], []
for key in keys:
    pages.put(key, key * 409_600) if key not in "37" else pages.peek(key)
def load(missing):
    asked.append(missing)
    return dict.fromkeys(missing, "x")
pages.get_many(["warm"], lambda missing: {"warm": "x"})
print("ready", flush=True)
sys.stdin.readline()
got = pages.get_many(keys, load)
print(json.dumps([asked, [len(got[key]) for key in keys], "".join(chr(got[key][0]) for key in keys)]))
""",
    ],
    "aio": [
        sys.executable,
        "-c",
        """
import asyncio, json, sys, quotalock.aio
async def body():
    async with quotalock.aio.Client(sys.argv[1], prefix="large", timeout=10.0) as client:
        pages = client.cache("pages")
        keys, asked = [str(n) for n in range(10)], []
        for key in keys:
            await (pages.put(key, key * 409_600) if key not in "37" else pages.peek(key))
        async def load(missing):
            asked.append(missing)
            return dict.fromkeys(missing, "x")
        await pages.get_many(["warm"], load)
        asked.clear()
        print("ready", flush=True)
        sys.stdin.readline()
        got = await pages.get_many(keys, load)
        print(json.dumps([asked, [len(got[key]) for key in keys], "".join(chr(got[key][0]) for key in keys)]))
asyncio.run(body())
""",
    ],
    "php": [
        *LANGUAGES["php"][:-1],
        "-r",
        """
$pages = (new Quotalock\\Client($argv[1], prefix: 'large', timeoutMs: 10000))->cache('pages');
$keys = array_map(fn ($n) => "$n", range(0, 9));
$asked = [];
foreach ($keys as $key) {
    in_array($key, ['3', '7'], true) ? $pages->peek($key) : $pages->put($key, str_repeat($key, 409600));
}
$load = function (array $missing) use (&$asked) {
    $asked[] = $missing;
    return array_fill_keys($missing, 'x');
};
$pages->getMany(['warm'], fn () => ['warm' => 'x']);
echo "ready\\n";
fgets(STDIN);
$got = $pages->getMany($keys, $load);
$lengths = array_map(fn ($key) => strlen($got[$key]), $keys);
echo json_encode([$asked, $lengths, implode('', array_map(fn ($key) => $got[$key][0], $keys))]), "\\n";
""",
        "--",
    ],
    "node": [
        "node",
        "-e",
        f"""
const {{ once }} = require('node:events')
const {{ Client }} = require({str(ROOT / "bindings-node/index.js")!r})
const pages = new Client(process.argv[1], {{ prefix: 'large', timeoutMs: 10000 }}).cache('pages')
const keys = Array.from({{ length: 10 }}, (_, n) => String(n))
const asked = []
const load = (missing) => {{
  asked.push(missing)
  return new Map(missing.map((key) => [key, 'x']))
}}
const main = async () => {{
  for (const key of keys) await ('37'.includes(key) ? pages.peek(key) : pages.put(key, key.repeat(409600)))
  await pages.getMany(['warm'], load)
  asked.length = 0
  console.log('ready')
  await once(process.stdin, 'data')
  process.stdin.pause()
  const got = await pages.getMany(keys, load)
  const first = keys.map((key) => String.fromCharCode(got.get(key)[0])).join('')
  console.log(JSON.stringify([asked, keys.map((key) => got.get(key).length), first]))
}}
main()
""",
    ],
}


@pytest.mark.parametrize("language", GETS)
@pytest.mark.parametrize("in_memory", [False, True])
def test_many_large_values_come_a_mebibyte_at_a_time(server: Server, language: str, *, in_memory: bool) -> None:
    words = [*GETS[language], "memory://" if in_memory else server.url]
    asks = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert asks.stdin is not None
    assert asks.stdout is not None
    assert asks.stdout.readline() == "ready\n"
    server.called()
    asks.stdin.write("\n")
    asks.stdin.flush()
    asked, lengths, first = json.loads(asks.communicate(timeout=20)[0])
    assert asked == [["3", "7"]]
    assert lengths == [1 if n in (3, 7) else 409_600 for n in range(10)]
    assert first == "012x456x89"
    calls = server.called()
    # Two values fit into one call, three with what is missing among them; then the two that were loaded are stored.
    assert calls.get("evalsha", 0) == (0 if in_memory else 4 + 2), calls
