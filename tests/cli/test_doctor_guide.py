"""The guide shows what the program prints."""

from __future__ import annotations

import re
import shlex
import time

from command import Program
from member import Member
from servers import ROOT

GUIDE = ROOT / "docs/guide/doctor.md"
BLOCK = re.compile(r"^```console\n\$ quotalock (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
# A version may have a fault that the guide's has not.
NOTE = re.compile(r"^note .*\n(?: +(?:means|do): .*\n)*", re.MULTILINE)


def test_the_runbook_is_what_happens(redis: Member, quotalock: Program) -> None:
    for words in (
        "limit:sku:42 -37412",
        "limit:sku:43 -2",
        "page:1 hello",
        "session:1 x EX 3600",
        "session:2 x EX 3600",
    ):
        redis.ask("SET", *words.split())
    steps = BLOCK.findall(GUIDE.read_text())
    assert len(steps) == 3
    for arguments, expected in steps:
        out = quotalock(*shlex.split(arguments)).out.replace(f"127.0.0.1:{redis.port}", "127.0.0.1:6379")
        out = re.sub(r"Redis [\d.]+", "Redis 7.0.15", NOTE.sub("", out))
        assert sorted(out.splitlines()) == sorted(expected.splitlines())
        give_up = time.monotonic() + 10
        while "--fix" in arguments and redis.ask("DBSIZE") > 3 and time.monotonic() < give_up:
            time.sleep(0.01)


def test_the_guide_tells_every_kind_of_finding() -> None:
    source = "".join(path.read_text() for path in (ROOT / "cli/src/doctor").glob("*.rs"))
    kinds = re.findall(r'(?:kind: |self\.tell\(\s*|self\.note\(\s*|of_node\(\s*)"(\w+)"', source)
    told = GUIDE.read_text()
    assert {"eviction", "unreachable", "clock", "rights"} <= set(kinds)
    assert [kind for kind in kinds if f"`{kind}`" not in told and kind != "unanswered"] == []
