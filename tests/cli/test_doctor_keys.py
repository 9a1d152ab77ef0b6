"""A name is no proof: what is permanent on purpose stays, and of libraries only what is proven is changed."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import permanent
import pytest
from command import Program
from library_keys import ROWS, table
from member import Member
from servers import ROOT

GUIDE = ROOT / "docs/guide/doctor.md"


def test_of_200_permanent_keys_none_is_changed(redis: Member, quotalock: Program) -> None:
    count = permanent.plant(redis)
    assert count >= 200
    ended = threading.Event()

    def work() -> None:
        turn = 0
        while not ended.wait(0.01):
            permanent.move(redis, turn)
            turn += 1

    working = threading.Thread(target=work)
    working.start()
    try:
        still = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "100ms")
        moving = quotalock("doctor", "--fix", "--yes", "--json", "--watch", "3s")
    finally:
        ended.set()
        working.join()
    assert redis.ask("DBSIZE") == count
    assert [name for name in redis.ask("KEYS", "*") if redis.ask("PTTL", name) != -1] == []
    for found in (still, moving):
        assert found.json["fixed"] is None
        assert [one for one in found.json["findings"] if one.get("state") == "stuck"] == []
    assert list(quotalock.folder.glob("quotalock-undo-*")) == []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the program prints of the libraries."""
    server = Member("redis-7.0")
    server.start()
    try:
        return table(server, tmp_path_factory.mktemp("undo"))
    finally:
        server.close()


def test_of_30_libraries_each_key_is_reported_and_only_what_is_proven_is_changed(made: str) -> None:
    lines = dict(re.findall(r"^\| (.*?) \| (.*) \|$", made, re.MULTILINE)[1:])
    assert len(lines) == len(ROWS) >= 30
    assert [name for name, told in lines.items() if told.startswith("no ")] == []
    changed = {name for name, told in lines.items() if told.endswith("**yes**")}
    assert changed == {row.library for row in ROWS if row.is_fixed}
    # What is counted on is changed only in use.
    unused = {name for name, told in lines.items() if "**yes** | " in told}
    assert unused == {row.library for row in ROWS if row.is_fixed and not row.denied}


def test_the_guide_has_the_table(made: str) -> None:
    assert made in GUIDE.read_text()


def test_whatever_is_confirmed_a_family_that_is_not_named_is_left_alone(
    redis: Member, quotalock: Program, tmp_path: Path
) -> None:
    for row in ROWS:
        for command in row.written:
            redis.ask(*command)
    fixed = quotalock("doctor", "--fix", "symfony-lock", "--json", "--watch", "200ms")
    assert fixed.json["fixed"]["done"] == 1
    assert [name for name in redis.ask("KEYS", "*") if redis.ask("PTTL", name) != -1] == ["import"]
    assert redis.ask("PTTL", "import") > 3_590_000
    assert quotalock("doctor", "--fix", "redlock").code == 2


def test_a_ttl_of_less_than_an_hour_needs_a_word(redis: Member, quotalock: Program) -> None:
    redis.ask("ZADD", "import", "1763800060000", "__write__", "1763800060000", "token")
    refused = quotalock("doctor", "--fix", "symfony-lock", "--ttl", "59m")
    assert (refused.code, redis.ask("PTTL", "import")) == (2, -1)
    assert "--allow-short-ttl" in refused.error
    assert quotalock("doctor", "--fix", "symfony-lock", "--allow-short-ttl", "--watch", "100ms").code == 0
    assert redis.ask("PTTL", "import") <= 1_000


def test_a_pattern_for_all_names_is_refused(redis: Member, quotalock: Program) -> None:
    for pattern in ("*", "?*", "*:1", ""):
        assert quotalock("doctor", "--also", pattern).code == 2
    assert quotalock("doctor", "--also", "buy:*").code == 0
