"""The interpreter ends in good order, whatever is under way."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest
import quotalock
from locks import wait_until

# How often each program ends, four at a time. Whether something is under way just then is a matter of chance.
AT_ONCE = 4
EXITS = [AT_ONCE, pytest.param(5 * AT_ONCE, marks=pytest.mark.long)]

IN_FLIGHT_ON_A_LOOP = """
import asyncio, os, sys
from quotalock import aio
limiter = aio.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
async def main():
    await limiter.consume("k")
    tasks = [asyncio.ensure_future(limiter.consume("k")) for _ in range(200)]
    await asyncio.sleep(0)
    sys.exit(0)
asyncio.run(main())
"""

ON_A_LOOP_THAT_NOBODY_CLOSES = """
import asyncio, os, warnings
from quotalock import aio
warnings.simplefilter("ignore")
limiter = aio.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
loop = asyncio.new_event_loop()
loop.run_until_complete(limiter.consume("k"))
calls = [loop.create_task(limiter.consume("k")) for _ in range(200)]
loop.run_until_complete(asyncio.sleep(0))
loop.set_exception_handler(lambda *_: None)
"""

ON_LOOPS_OF_DAEMONS = """
import asyncio, os, threading, time
from quotalock import aio
limiter = aio.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
async def main():
    while True:
        await asyncio.gather(*(limiter.consume("k") for _ in range(20)))
for _ in range(3):
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
time.sleep(0.1)
"""

IN_CALLBACKS_OF_DAEMONS = """
import asyncio, io, os, sys, threading, time
from quotalock import aio
class Slow(asyncio.SelectorEventLoop):
    def call_soon(self, *given, **named):
        time.sleep(0.001)
        return super().call_soon(*given, **named)
class Lasting(io.StringIO):
    def flush(self):
        time.sleep(0.05)
limiter = aio.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
async def main():
    while True:
        await asyncio.gather(*(limiter.consume("k") for _ in range(20)))
for _ in range(3):
    threading.Thread(target=lambda: Slow().run_until_complete(main()), daemon=True).start()
time.sleep(0.1)
sys.stdout = Lasting()
"""

IN_DAEMONS = """
import os, threading, time
import quotalock
limiter = quotalock.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
def work():
    while True:
        limiter.consume("k")
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""

BLOCKED_IN_DAEMONS = """
import os, threading, time
import quotalock
silent = quotalock.Client(os.environ["SILENT"], timeout=60).limiter("exit", "1/hour")
waiting = quotalock.Client("memory://").limiter("exit", "1/hour")
waiting.consume("k")
for call in (lambda: silent.consume("k"), lambda: waiting.wait("k", 10_000)):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.12)
"""

HOLDING_LOCKS = """
import asyncio, os
import quotalock
from quotalock import aio
name = f"exit-{os.getpid()}"
kept = [quotalock.Client(os.environ["URL"], timeout=10).lock(f"{name}-{n}", ttl=10) for n in range(5)]
assert all(lock.acquire() for lock in kept)
lost = [lock.lost for lock in kept]
held = aio.Client(os.environ["URL"], timeout=10).lock(f"{name}-a", ttl=10)
assert asyncio.run(held.acquire())
"""

WAITING_FOR_LOCKS_IN_DAEMONS = """
import os, threading, time
import quotalock
client = quotalock.Client(os.environ["URL"], timeout=10)
memory = quotalock.Client("memory://")
for each in (client, memory):
    held = each.lock(f"exit-{os.getpid()}", ttl=10)
    assert held.acquire()
    globals()[each.server] = held
    wait = lambda each=each: each.lock(f"exit-{os.getpid()}").acquire(100)
    for call in (wait, wait, held.lost.wait):
        threading.Thread(target=call, daemon=True).start()
time.sleep(0.12)
"""

TAKING_TURNS_IN_DAEMONS = """
import os, threading, time
import quotalock
client = quotalock.Client(os.environ["URL"], timeout=10)
def work():
    while True:
        with client.lock(f"exit-{os.getpid()}", ttl=10, wait=100):
            pass
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""

WAITING_FOR_LOCKS_ON_A_LOOP = """
import asyncio, os, sys
from quotalock import aio
client = aio.Client(os.environ["URL"], timeout=10)
async def wait():
    async with client.lock(f"exit-{os.getpid()}", ttl=10, wait=100, cancel_on_loss=True) as lock:
        await lock.lost.wait()
async def main():
    tasks = [asyncio.ensure_future(wait()) for _ in range(20)]
    await asyncio.sleep(0.05)
    sys.exit(0)
asyncio.run(main())
"""

WAITING_FOR_LOCKS_ON_A_LOOP_THAT_NOBODY_CLOSES = """
import asyncio, os, warnings
from quotalock import aio
warnings.simplefilter("ignore")
client = aio.Client(os.environ["URL"], timeout=10)
loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda *_: None)
async def wait():
    async with client.lock(f"exit-{os.getpid()}", ttl=10, wait=100) as lock:
        await lock.lost.wait()
tasks = [loop.create_task(wait()) for _ in range(20)]
loop.run_until_complete(asyncio.sleep(0.05))
"""

LOCKS_ON_LOOPS_OF_DAEMONS = """
import asyncio, os, threading, time
from quotalock import aio
client = aio.Client(os.environ["URL"], timeout=10)
async def work():
    while True:
        async with client.lock(f"exit-{os.getpid()}", ttl=10, wait=100):
            await asyncio.sleep(0)
async def main():
    await asyncio.gather(*(work() for _ in range(5)))
for _ in range(3):
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
time.sleep(0.1)
"""

LOADING_IN_DAEMONS = """
import itertools, os, threading, time
import quotalock
memory = quotalock.Client("memory://")
client = quotalock.Client(os.environ["URL"], prefix=f"exit-{os.getpid()}", timeout=10)
keys = itertools.count()
def hang():
    time.sleep(60)
def work(pages):
    while True:
        pages.get(str(next(keys)), lambda: "x")
for each in (client, memory):
    pages = each.cache("exit")
    wait = lambda p=pages: p.get("hang", hang, 60)
    for call in (wait, wait, lambda p=pages: work(p)):
        threading.Thread(target=call, daemon=True).start()
time.sleep(0.12)
"""

LOADING_ON_A_LOOP = """
import asyncio, os, sys
from quotalock import aio
pages = aio.Client(os.environ["URL"], prefix=f"exit-{os.getpid()}", timeout=10).cache("exit")
async def main():
    tasks = [asyncio.ensure_future(pages.get("k", lambda: asyncio.sleep(60), 60)) for _ in range(20)]
    tasks += [asyncio.ensure_future(pages.get(f"k{n}", lambda: "x")) for n in range(20)]
    await asyncio.sleep(0.05)
    sys.exit(0)
asyncio.run(main())
"""

LOADING_ON_A_LOOP_THAT_NOBODY_CLOSES = """
import asyncio, os, warnings
from quotalock import aio
warnings.simplefilter("ignore")
pages = aio.Client(os.environ["URL"], prefix=f"exit-{os.getpid()}", timeout=10).cache("exit")
loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda *_: None)
tasks = [loop.create_task(pages.get("k", lambda: asyncio.sleep(60), 60)) for _ in range(20)]
tasks += [loop.create_task(pages.get_many([f"k{n}", "k"], dict, 60)) for n in range(20)]
loop.run_until_complete(asyncio.sleep(0.05))
"""

LOADING_ON_LOOPS_OF_DAEMONS = """
import asyncio, itertools, os, threading, time
from quotalock import aio
pages = aio.Client(os.environ["URL"], prefix=f"exit-{os.getpid()}", timeout=10).cache("exit")
keys = itertools.count()
async def work():
    while True:
        await pages.get(str(next(keys) // 3), lambda: asyncio.sleep(0, "x"))
async def main():
    await asyncio.gather(*(work() for _ in range(5)))
for _ in range(3):
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
time.sleep(0.1)
"""

# Garbage whose finalizers take a while, and an interpreter whose end does too. No case by itself.
garbage = """
import gc, io, sys, time
class Lasting(io.StringIO):
    def flush(self):
        time.sleep(0.05)
class Cycle:
    # No thread makes another before its last ones are gone, or a collection would never come to an end.
    def __init__(self, alive):
        self.me, self.alive = self, alive
        alive.append(None)
    def __del__(self):
        time.sleep(0.0002)
        self.alive.pop()
"""

COLLECTING_IN_DAEMONS = (
    garbage
    + """
import os, threading
import quotalock
client = quotalock.Client(os.environ["URL"], prefix=f"exit-{os.getpid()}", timeout=10)
limiter, pages = client.limiter("exit", "1000000/hour"), client.cache("exit")
def work():
    alive = []
    while True:
        if len(alive) < 30:
            Cycle(alive)
        limiter.consume("k")
        pages.get_many(["a", "b"], lambda keys: dict.fromkeys(keys, "x"))
        try:
            limiter.consume("")
        except quotalock.InvalidArgument:
            pass
gc.set_threshold(15, 1, 1)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
sys.stdout = Lasting()
"""
)

COLLECTING_ON_LOOPS_OF_DAEMONS = (
    garbage
    + """
import asyncio, os, threading
from quotalock import aio
limiter = aio.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
async def main():
    alive = []
    while True:
        for _ in range(30 - len(alive)):
            Cycle(alive)
        await asyncio.gather(*(limiter.consume("k") for _ in range(20)))
gc.set_threshold(7, 1, 1)
for _ in range(3):
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
time.sleep(0.2)
sys.stdout = Lasting()
"""
)

A_LAST_WORD_OF_A_DAEMON = """
import atexit, os, threading
asked, said = threading.Event(), threading.Event()
@atexit.register
def last():
    asked.set()
    if not said.wait(20):
        os._exit(1)
import quotalock
limiter = quotalock.Client(os.environ["URL"], timeout=10).limiter("exit", "1000000/hour")
def say():
    asked.wait()
    limiter.consume("k")
    said.set()
threading.Thread(target=say, daemon=True).start()
"""

WHILE_CONNECTING = """
import asyncio, os, sys
from quotalock import aio
limiter = aio.Client(os.environ["SILENT"], timeout=60).limiter("exit", "1/hour")
async def main():
    asyncio.ensure_future(limiter.consume("k"))
    await asyncio.sleep(0.01)
    sys.exit(0)
asyncio.run(main())
"""

HOLDING = """
import asyncio, os, signal, sys, threading
import quotalock
from quotalock import aio
url, name = os.environ["URL"], os.environ["NAME"]
kept = [each.Client(url, timeout=10).lock(f"{name}-{each.__name__}", ttl=TTL) for each in (quotalock, aio)]
assert kept[0].acquire()
assert asyncio.run(kept[1].acquire())
def hold(held=threading.Event()):
    lock = quotalock.Client(url, timeout=10).lock(f"{name}-daemon", ttl=TTL)
    assert lock.acquire()
    held.set()
    threading.Event().wait()
held = threading.Event()
threading.Thread(target=hold, args=(held,), daemon=True).start()
held.wait()
"""
HELD = ("quotalock", "quotalock.aio", "daemon")
# How the program ends, and what it leaves to its ttl for certain: a daemon thread has no end of its own.
ENDS: dict[str, tuple[str, ...]] = {
    "": ("daemon",),
    "sys.exit(1)": ("daemon",),
    "sys.excepthook = print; raise ValueError": ("daemon",),
    "os._exit(0)": HELD,
    "os.kill(os.getpid(), signal.SIGKILL)": HELD,
}

CASES = {
    name.lower(): code
    for name, code in list(globals().items())
    if name.isupper() and name != "HOLDING" and isinstance(code, str)
}


@pytest.fixture(scope="module")
def plain() -> float:
    """How long the machine takes for a program that does nothing, in seconds, where some run at once."""
    started = time.monotonic()
    nothing = [subprocess.Popen([sys.executable, "-c", "from quotalock import aio"]) for _ in range(AT_ONCE)]
    assert [process.wait(timeout=60) for process in nothing] == [0] * AT_ONCE
    return (time.monotonic() - started) / AT_ONCE


@pytest.mark.parametrize("exits", EXITS)
@pytest.mark.parametrize("case", CASES)
def test_exits(case: str, exits: int, url: str, plain: float) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {**os.environ, "URL": url, "SILENT": f"redis://127.0.0.1:{silent.getsockname()[1]}"}
        command = [sys.executable, "-c", CASES[case]]
        started = time.monotonic()
        for _ in range(0, exits, AT_ONCE):
            ending = [
                subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for _ in range(AT_ONCE)
            ]
            ends = [(process.communicate(timeout=30)[0], process.returncode) for process in ending]
            assert ends == [("", 0)] * AT_ONCE
        assert time.monotonic() - started < 30 + exits * plain


@pytest.mark.parametrize("end", ENDS)
def test_what_is_held_ends_with_its_ttl(end: str, url: str, prefix: str) -> None:
    """At the latest; what is released before that is no promise."""
    ttl = 1.0
    environment = {**os.environ, "URL": url, "NAME": prefix}
    subprocess.run([sys.executable, "-c", HOLDING.replace("TTL", str(ttl)) + end], env=environment, check=False)
    ended = time.time()
    client = quotalock.Client(url, timeout=10)
    locks = {each: client.lock(f"{prefix}-{each}") for each in HELD}
    seen = {each: lock.inspect().holders for each, lock in locks.items()}
    assert all(holder.until <= ended + ttl for holders in seen.values() for holder in holders), "it was renewed"
    wait_until(lambda: not any(lock.inspect().holders for lock in locks.values()))


@pytest.mark.parametrize("end", ENDS)
def test_what_ends_without_a_word_is_left_to_its_ttl(end: str, url: str, prefix: str) -> None:
    environment = {**os.environ, "URL": url, "NAME": prefix}
    subprocess.run([sys.executable, "-c", HOLDING.replace("TTL", "60.0") + end], env=environment, check=False)
    client = quotalock.Client(url, timeout=10)
    for each in ENDS[end]:
        lock = client.lock(f"{prefix}-{each}")
        assert lock.inspect().holders
        lock.force_release()
