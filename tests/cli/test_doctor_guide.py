"""The guide shows what the program prints."""

from __future__ import annotations

import re
import shlex
import threading

from command import Program
from member import Member, until
from servers import ROOT

GUIDE = ROOT / "docs/guide/doctor.md"
BLOCK = re.compile(r"^```console\n\$ quotalock (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
# A version may have a fault that the guide's has not.
NOTE = re.compile(r"^note .*\n(?: +(?:means|do): .*\n)*", re.MULTILINE)


def test_the_runbook_is_what_happens(redis: Member, quotalock: Program) -> None:
    for words in ("limit:sku:42 -37412", "page:1 hello", "session:1 x EX 3600", "session:2 x EX 3600"):
        redis.ask("SET", *words.split())
    steps = BLOCK.findall(GUIDE.read_text())
    assert len(steps) == 3
    for arguments, expected in steps:
        ended = threading.Event()

        def call(ended: threading.Event = ended) -> None:
            # Only as long as it is there: the last calls must not create it again.
            script = "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end"
            while not ended.wait(0.01):
                redis.ask("EVAL", script, 1, "limit:sku:42")

        calling = threading.Thread(target=call)
        calling.start()
        try:
            out = quotalock(*shlex.split(arguments), "--watch", "1h").out
        finally:
            ended.set()
            calling.join()
        out = out.replace(f"127.0.0.1:{redis.port}", "127.0.0.1:6379")
        out = re.sub(r"Redis [\d.]+", "Redis 7.0.15", NOTE.sub("", out))
        out = re.sub(r"limit:sku:42 = -37\d+", "limit:sku:42 = -37412", out)
        assert sorted(out.splitlines()) == sorted(expected.splitlines())
        if "--fix" in arguments:
            until(lambda: redis.ask("DBSIZE") == 3, "does not end", lambda: redis.ask("KEYS", "*"))


def test_the_guide_tells_every_kind_of_finding() -> None:
    source = "".join(path.read_text() for path in (ROOT / "cli/src/doctor").glob("*.rs"))
    kinds = re.findall(r'(?:kind: |self\.tell\(\s*|self\.note\(\s*|of_node\(\s*)"(\w+)"', source)
    told = GUIDE.read_text()
    assert {"eviction", "unreachable", "clock", "rights"} <= set(kinds)
    assert [kind for kind in kinds if f"`{kind}`" not in told and kind != "unanswered"] == []
