"""`quotalock explain`: a policy in words."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import quotalock
from offline import ROOT, refuses, run, says, tells
from quotalock import testing

GUIDE = ROOT / "docs/guide/algorithms.md"


def test_the_worst_cases_are_those_of_the_guide() -> None:
    table = GUIDE.read_text().split("<!-- worst: make figures -->")[1].split("<!-- /worst -->")[0]
    rows = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in table.strip().splitlines()[2:]]
    assert len(rows) == 10
    for policy, in_a_minute, in_a_second, long_run, wait in rows:
        (rule,) = tells("explain", policy)["rules"]
        told = (rule["most_in_a_period"], rule["most_in_a_moment"], rule["long_run"], rule["longest_wait"])
        assert told == (int(in_a_minute), int(in_a_second), float(long_run), float(wait.removesuffix(" s"))), policy


@pytest.mark.parametrize(
    "policy", ["10/minute", "token-bucket 5/s;100/day", "calendar-window 9/h", "sliding-window 3/s"]
)
def test_a_value_takes_what_is_said(policy: str) -> None:
    with quotalock.Client("memory://explained", prefix=f"explained{len(policy)}") as client:
        limiter = client.limiter("explained", policy)
        limiter.consume("k")
        stored = testing.get(client, limiter.redis_key("k"))
    assert stored is not None
    assert tells("explain", policy)["value_bytes"] == len(stored[0] if isinstance(stored, tuple) else stored.value)


def test_words() -> None:
    said = says("explain", "10 per minute; sliding-log 100/hour; 5000/day")
    assert said.startswith("10/minute;sliding-log 100/hour;5000/day\n")
    assert "Admits 10 in a window of 1m, which the first admitted call opens." in said
    assert "Most in any 1m: 19." in said
    assert "Never denies anything that sliding-log 100/hour admits: leave it out." in said
    assert "Who calls without a pause is limited by sliding-log 100/hour." in said
    assert re.search(r"A key's value takes \d+ bytes in Redis, and up to [\d,]+ more while its log is full\.", said)
    told = tells("explain", "10/minute;sliding-log 100/hour;5000/day")
    assert [rule["never_binds_beside"] for rule in told["rules"]] == [None, None, 1]
    assert told["binds_in_the_long_run"] == [1]


def test_extreme_policies() -> None:
    for policy in [
        "1/ms",
        f"{2**52}/ms",
        f"{2**52}/36500 days",
        f"calendar-window {2**52}/ms",
        f"sliding-window {2**52}/36500 days",
        f"sliding-log {2**39}/ms",
        "token-bucket 1/36500 days capacity 1",
        "token-bucket 4503599627370496/s capacity 1",
        ";".join(f"{n}/{n} minutes" for n in range(1, 11)),
    ]:
        told = tells("explain", policy)
        assert told["rules"][0]["most_in_a_period"] >= told["rules"][0]["most_in_a_moment"] >= 1
        assert says("explain", policy)


def test_what_is_no_policy() -> None:
    assert '"ten" is unknown' in refuses("explain", "ten")
    assert "\x1b" not in refuses("explain", "\x1b[31m/s")
    assert json.loads(refuses("--json", "explain", ""))["error"]["code"] == "invalid_policy"
    assert "required" in refuses("explain")


def test_whoever_reads_may_go(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = run("explain", "1/s", capture_output=False, stdout=full, stderr=-1)
    assert (ended.returncode, "No space left" in ended.stderr) == (1, True)
    reader, writer = os.pipe()
    os.close(reader)
    ended = run("explain", "1/s", capture_output=False, stdout=writer, stderr=-1)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_moment_takes_all_rules_together() -> None:
    rules = tells("explain", "10/minute;100/hour")["rules"]
    told = [(rule["most_in_a_moment"], rule["most_in_a_moment_with_the_others"]) for rule in rules]
    assert told == [(19, 19), (199, 19)]
    assert "Most in a moment: 199, around the edge of two windows; with the other rules 19." in says(
        "explain", "10/minute;100/hour"
    )
