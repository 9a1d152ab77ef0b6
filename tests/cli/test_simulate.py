"""`quotalock simulate`: who would have been denied, by the log."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import quotalock
from offline import LOG, PROGRAM, ROOT, START, combined, json_line, months, refuses, run, says, tells
from quotalock import testing

SERVERS: dict[str, str] = json.loads(os.environ.get("QUOTALOCK_TEST_SERVERS", "{}"))
GUIDES = [ROOT / "docs/guide/simulate.md", ROOT / "docs/recipes/introduce-a-limit.md"]
POLICIES = (
    "10/minute",
    "calendar-window 20/hour",
    "sliding-window 12/minute",
    "token-bucket 6/minute capacity 9",
    "sliding-log 10/minute;100/day",
)


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(lines))
    return path


def outcome(*words: str | Path, **options: Any) -> Any:
    """What the only policy decided."""
    (only,) = tells("simulate", *words, **options)["policies"]
    return only


@pytest.mark.parametrize("store", ["memory", "redis-7.0", "valkey-9.1"])
def test_each_decision_is_that_of_a_limiter(tmp_path: Path, store: str) -> None:
    some = LOG.read_bytes().splitlines(keepends=True)[: 10_000 if store == "memory" else 1_500]
    log, decisions = tmp_path / "log", tmp_path / "decisions"
    log.write_bytes(b"".join(some))
    policies = [word for policy in POLICIES for word in ("--policy", policy)]
    told = tells("simulate", *policies, "--decisions", decisions, log)
    lines = [json.loads(line) for line in decisions.read_text().splitlines()]
    assert len(lines) == len(some) == told["requests"]
    for number, policy in enumerate(POLICIES):
        url = f"memory://simulate-{number}" if store == "memory" else SERVERS[store]
        with quotalock.Client(url, prefix=f"simulate-{os.getpid()}-{number}", timeout=10.0) as client:
            limiter = client.limiter("replay", policy)
            denied = 0
            for at, line in enumerate(lines):
                testing.set_time(client, round(line["time"] * 1_000_000))
                admitted = bool(limiter.consume(line["client"]))
                assert admitted == line["admitted"][number], (policy, at + 1)
                denied += not admitted
        assert denied == told["policies"][number]["denied"] > 0


def test_who_when_and_how_often(tmp_path: Path) -> None:
    lines = [combined("192.0.2.1", n) for n in range(30)] + [combined("192.0.2.2", 30), combined("192.0.2.1", 61)]
    report = tells("simulate", "--policy", "10/minute", write(tmp_path, "log", *lines))
    assert (report["lines"], report["requests"], report["clients"]) == (32, 32, 2)
    assert (report["first"], report["last"]) == (START, START + 61)
    (told,) = report["policies"]
    assert (told["admitted"], told["denied"], told["clients_denied"]) == (12, 20, 1)
    assert (told["first_denied"], told["last_denied"], told["longest_wait"]) == (START + 10, START + 29, 50.0)
    assert told["worst"] == [
        {
            "client": "192.0.2.1",
            "requests": 31,
            "denied": 20,
            "first_denied": START + 10,
            "last_denied": START + 29,
        }
    ]
    assert sum(told["series"]["admitted"]) == 12
    assert sum(told["series"]["denied"]) == 20
    assert told["series"]["denied"][10] == 1
    assert told["series"]["start"] == START
    assert dict(told["classes"])["50 to 90 %"] == 1
    said = says("simulate", "--policy", "10/minute", tmp_path / "log")
    assert "denies 20 requests (62.5 %), of 1 client (50 %)" in said
    assert "192.0.2.1          31          20    64.5 %  2015-05-17 10:00:10  2015-05-17 10:00:29" in said


def test_several_policies_side_by_side(tmp_path: Path) -> None:
    log = write(tmp_path, "log", *(combined("a", n) for n in range(20)))
    report = tells("simulate", "--policy", "5/minute", "--policy", "1/s;15/minute", "--policy", "100/s", log)
    assert [one["policy"] for one in report["policies"]] == ["5/minute", "1/second;15/minute", "100/second"]
    assert [one["denied"] for one in report["policies"]] == [15, 5, 0]
    assert report["policies"][1]["rules"] == [
        {"rule": "1/second", "denied": 0},
        {"rule": "15/minute", "denied": 5},
    ]
    assert "100/second\n  denies nobody\n" in says("simulate", "--policy", "100/s", log)


def test_by_what_is_limited(tmp_path: Path) -> None:
    lines = [
        f"192.0.2.{n % 3} - user{n % 2} [17/May/2015:10:00:00 +0000] "
        f'"GET /p{n % 5}?q={n} HTTP/1.1" 200 5 "-" "A{n % 4}"\n'
        for n in range(60)
    ]
    log = write(tmp_path, "log", *lines)
    for by, clients in [("ip", 3), ("user", 2), ("path", 5), ("field:agent", 4), ("field:status", 1)]:
        assert tells("simulate", "--policy", "1/s", "--by", by, log)["clients"] == clients, by
    report = tells("simulate", "--policy", "1/s", "--by", "field:cookie", log, code=1)
    assert (report["requests"], report["left_out"][0]["why"]) == (0, "nobody")


def test_patterns(tmp_path: Path) -> None:
    log = write(tmp_path, "log", *(f"1431857103.{n:03}|k{n % 2}|GET /\n" for n in range(10)), "else\n")
    pattern = "$msec|$http_x_api_key|$request"
    told = tells("simulate", "--policy", "2/s", "--by", "field:http_x_api_key", "--pattern", pattern, log)
    assert (told["clients"], told["policies"][0]["denied"], told["left_out"][0]["lines"]) == (2, 6, 1)
    pattern = r"^(?<time>[\d.]+)\|(?<key>\w+)"
    assert outcome("--policy", "2/s", "--by", "field:key", "--pattern", pattern, log)["denied"] == 6
    assert "has no variable remote_addr" in refuses("simulate", "--policy", "2/s", "--pattern", "$msec $x", log)
    assert "no group time_local" in refuses("simulate", "--policy", "2/s", "--pattern", "(?<ip>.)", log)
    assert "no regular expression" in refuses("simulate", "--policy", "2/s", "--pattern", "(?<ip>.", log)


def test_forms_may_be_mixed_and_packed_and_come_by_a_pipe(tmp_path: Path) -> None:
    lines = [combined("a", n) if n % 2 else json_line("a", n) for n in range(40)]
    plain, packed = write(tmp_path, "plain", *lines), tmp_path / "packed"
    packed.write_bytes(gzip.compress("".join(lines[:20]).encode()) + gzip.compress("".join(lines[20:]).encode()))
    told = tells("simulate", "--policy", "10/minute", plain)
    assert told["forms"] == [["common or combined", 20], ["JSON", 20]]
    piped = tells("simulate", "--policy", "10/minute", "-", input="".join(lines))
    for other in (piped, tells("simulate", "--policy", "10/minute", packed)):
        assert {**other, "files": []} == {**told, "files": []}
    assert "several forms: 20 common or combined, 20 JSON" in says("simulate", "--policy", "10/minute", plain)


def test_several_logs_are_merged_by_time(tmp_path: Path) -> None:
    # As the shell names them: the newest first.
    parts = [write(tmp_path, f"log{n}", *(combined("a", 60 * (9 - n) + s) for s in range(0, 60, 5))) for n in range(10)]
    whole = write(tmp_path, "whole", *(part.read_text() for part in reversed(parts)))
    merged, one = (tells("simulate", "--policy", "7/minute", *files) for files in (parts, [whole]))
    assert (merged["earlier"], merged["policies"]) == (0, one["policies"])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_log_out_of_order_counts_as_the_same_log_in_order(tmp_path: Path, policy: str) -> None:
    lines = LOG.read_text(errors="replace").splitlines(keepends=True)
    when = re.compile(r"\[(\d+)/May/2015:([\d:]+) ")
    ordered = sorted(lines, key=lambda line: found.groups() if (found := when.search(line)) else ("", ""))
    files = [write(tmp_path, "as-is", *lines), write(tmp_path, "ordered", *ordered)]
    shuffled = list(enumerate(ordered))
    shaken = random.Random(7)
    # Each line moves by up to 20 places, which is less than the window.
    shuffled.sort(key=lambda one: one[0] + shaken.uniform(0, 20))
    files.append(write(tmp_path, "shaken", *(line for _, line in shuffled)))
    first, *others = (tells("simulate", "--policy", policy, "--reorder", "2h", file) for file in files)
    assert first["earlier"] > 9_000
    for other in others:
        for name in ("denied", "clients_denied", "longest_wait", "series"):
            assert other["policies"][0][name] == first["policies"][0][name], (policy, name)


def test_lines_out_of_order_are_sorted_within_the_window_and_refused_beyond(tmp_path: Path) -> None:
    log = write(tmp_path, "log", *(combined("a", n) for n in (10, 9, 10, 3, 11)))
    report = tells("simulate", "--policy", "1/s", log)
    assert (report["earlier"], report["earlier_by"], report["policies"][0]["denied"]) == (2, 7.0, 1)
    assert "2 lines came after a later one, by up to 7s: all lines were sorted by time" in says(
        "simulate", "--policy", "1/s", log
    )
    page = tmp_path / "page.html"
    says("simulate", "--policy", "1/s", "--html", page, log)
    assert "2 lines came after a later one, by up to 7s: all lines were sorted by time" in page.read_text()
    assert tells("simulate", "--policy", "1/s", "--reorder", "7s", log)["requests"] == 5
    said = refuses("simulate", "--policy", "1/s", "--reorder", "6s", "--html", page, log, code=1)
    assert f"{log}:4 is of 2015-05-17 10:00:03, but a line before it is of 2015-05-17 10:00:10: 7s later" in said
    assert "--reorder 6s" in said
    late = write(tmp_path, "late", combined("a", 0), combined("b", 301), combined("a", 0))
    assert f"{late}:3 " in refuses("simulate", "--policy", "1/s", late, code=1)
    assert tells("simulate", "--policy", "1/s", "--reorder", "10m", late)["policies"][0]["denied"] == 1


def test_what_cannot_be_used_is_counted_and_shown(tmp_path: Path) -> None:
    good = combined("a", 1)
    bad = [
        "\x1b]0;pwned\x07 \x1b[31mred\n",
        "<script>alert(1)</script>\n",
        "not a line\n",
        "nor this\n",
        good.replace("2015", "2199"),
        good.replace("2015", "1971"),
        good.replace("a -", "- -", 1),
        "x" * (3 << 20) + "\n",
        good.replace("2015", "2016"),
    ]
    log = write(tmp_path, "log", good, good, *bad, good, "\n\n")
    page = tmp_path / "page.html"
    report = tells("simulate", "--policy", "9/s", log, "--html", page)
    assert {one["why"]: one["lines"] for one in report["left_out"]} == {
        "unreadable": 4,
        "too_long": 1,
        "nobody": 1,
        "future": 1,
        "past": 1,
        "astray": 1,
    }
    assert (report["lines"], report["requests"]) == (12, 3)
    assert [one["line"] for one in report["left_out"][0]["examples"]] == [3, 4, 5]
    said = says("simulate", "--policy", "9/s", log)
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "\\u{1b}[31mred" in said
    assert "  Left out: 4 lines in no form that was expected\n" in said
    assert "  Left out: 1 line without a client\n" in said
    assert "<script>" not in page.read_text()


def test_logs_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in refuses("simulate", "--policy", "1/s", tmp_path / "none")
    assert "directory" in refuses("simulate", "--policy", "1/s", tmp_path)
    assert '"ten" is unknown' in refuses("simulate", "--policy", "ten a minute", LOG)
    assert "required" in refuses("simulate", "--policy", "1/s")
    assert "percentage" in refuses("simulate", "--policy", "1/s", "--suggest", "0", LOG)
    assert "field:NAME" in refuses("simulate", "--policy", "1/s", "--by", "agent", LOG)
    assert json.loads(refuses("--json", "simulate", "--policy", "0/s", LOG))["error"]["code"] == "invalid_policy"
    empty = write(tmp_path, "empty")
    assert "empty has no line: nothing was replayed" in refuses("simulate", "--policy", "1/s", empty, code=1)
    (tmp_path / "blank").write_text("\n\r\n\n")
    refused = json.loads(refuses("--json", "simulate", "--policy", "1/s", empty, tmp_path / "blank", code=1))
    assert refused["error"]["code"] == "empty_log"
    # Next to one with requests it says nothing.
    assert tells("simulate", "--policy", "10/minute", empty, LOG)["requests"] > 3_000
    noise = tmp_path / "noise"
    noise.write_bytes(random.Random(1).randbytes(1 << 20))
    assert tells("simulate", "--policy", "1/s", noise, code=1)["requests"] == 0
    cut = tmp_path / "cut.gz"
    whole = gzip.compress(LOG.read_bytes())
    cut.write_bytes(whole[: len(whole) // 2])
    report = tells("simulate", "--policy", "10/minute", cut, code=1)
    assert report["requests"] > 3_000
    assert "cut.gz after line " in report["broken"][0]


def test_what_is_found_ends_with_1_only_if_asked(tmp_path: Path) -> None:
    log = write(tmp_path, "log", combined("a", 1), combined("a", 1))
    says("simulate", "--policy", "1/s", log)
    says("simulate", "--policy", "1/s", "--fail", log, code=1)
    says("simulate", "--policy", "2/s", "--fail", log)


@pytest.mark.parametrize("shape", ["10/minute", "token-bucket 10/minute capacity 20", "5/s;sliding-log 30/minute"])
@pytest.mark.parametrize("percent", [0.1, 1, 5, 50])
def test_a_suggestion_keeps_its_word(shape: str, percent: float) -> None:
    told = outcome("--policy", shape, "--suggest", f"{percent}%", LOG)["suggestion"]
    clients = 1_753
    again = outcome("--policy", told["policy"], LOG)
    assert again["clients_denied"] == told["clients_denied"]
    assert 100 * again["clients_denied"] / clients < percent
    shares = [share for _, share in told["curve"]]
    assert shares == sorted(shares, reverse=True)
    if shape == "10/minute":
        limit = int(told["policy"].split("/")[0])
        smaller = outcome("--policy", f"{limit - 1}/minute", LOG)
        assert 100 * smaller["clients_denied"] / clients >= percent


def test_likely_false_positives_are_those_that_nearly_keep_to_the_limit(tmp_path: Path) -> None:
    person = [combined("person", 60 * minute) for minute in range(18)] + [combined("person", 1080)] * 6
    flood = [combined("flood", 1100)] * 50
    told = outcome("--policy", "5/minute", write(tmp_path, "log", *person, *flood))
    assert (told["denied"], told["clients_denied"]) == (46, 2)
    assert (told["likely_false_clients"], told["likely_false_requests"]) == (1, 1)


def test_more_clients_than_are_kept_are_left_out(tmp_path: Path) -> None:
    log = write(tmp_path, "log", *(combined(f"c{n % 50}", 1) for n in range(100)))
    report = tells("simulate", "--policy", "1/s", "--max-clients", "20", log)
    assert (report["clients"], report["requests"]) == (20, 40)
    assert [(one["why"], one["lines"]) for one in report["left_out"]] == [("too_many_clients", 60)]


def test_memory_does_not_grow_with_the_log() -> None:
    def peak(times: int) -> int:
        process = subprocess.Popen(
            [PROGRAM, "simulate", "--policy", "10/minute", "--policy", "token-bucket 5/s", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert process.stdin
        with process.stdin as log:
            log.writelines(months(times))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss

    small, large = peak(1), peak(60)
    assert large < small + 2_048, (small, large)


def test_a_damaged_log_is_counted_line_by_line(tmp_path: Path) -> None:
    chance = random.Random(15)
    good = LOG.read_bytes().splitlines()[:300]
    good += [
        json_line(f"192.0.2.{n}", n, user={"id": n, "tags": ["a", "}"]}, uri=f"/\u00e9?{n}").encode()[:-1]
        for n in range(300)
    ]
    noise = [
        b"\x00",
        b"\n",
        b"\r",
        b"\xff",
        b'"',
        b"\\",
        b"[",
        b"]",
        b"{",
        b"}",
        b" ",
        b":",
        b"\xe2\x80\xae",
        b"\x1b[2J",
        b"<b>",
    ]
    pattern = r'^(?<ip>\S+) .*?\[(?<time>[^]]*)\] "(?<request>(?:[^"\\]|\\.)*)"'
    for number in range(40):
        lines = []
        for line in chance.choices(good, k=300):
            damaged = bytearray(line)
            for _ in range(chance.choice((0, 0, 1, 3, 30))):
                at = chance.randrange(len(damaged) + 1)
                match chance.randrange(4):
                    case 0:
                        damaged[at:at] = chance.choice(noise)
                    case 1:
                        del damaged[at : at + chance.randrange(20)]
                    case 2:
                        damaged[at : at + 1] = bytes([chance.randrange(256)])
                    case _:
                        del damaged[at:]
            lines.append(bytes(damaged))
        log, page = tmp_path / "log", tmp_path / "page"
        log.write_bytes(b"\n".join(lines))
        by = ("ip", "user", "path", "field:user.id", "field:agent")[number % 5]
        words: list[str | Path] = [
            "--reorder",
            "100000d",
            "--policy",
            "3/minute",
            "--by",
            by,
            "--suggest",
            "5",
            "--html",
            page,
            log,
        ]
        if number % 7 == 0 and by in ("ip", "path"):
            words = ["--pattern", pattern, *words]
        ended = run("--json", "simulate", *words)
        assert (ended.returncode in (0, 1), ended.stderr) == (True, ""), number
        report = json.loads(ended.stdout)
        # What stands between two ends of lines, and is more than one end of them.
        expected = sum(bool(line.removesuffix(b"\r")) for line in log.read_bytes().split(b"\n"))
        out = sum(one["lines"] for one in report["left_out"])
        assert (report["lines"], report["requests"] + out) == (expected, expected), number
        assert not set(page.read_text()) & {"\x00", "\x1b", "\u202e"}, number
        assert "<b>" not in page.read_text()
        said = run("simulate", *words).stdout
        assert not set(said) & {"\x00", "\x1b", "\u202e", "\r"}, number


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_shows_what_it_prints(guide: Path) -> None:
    blocks = re.findall(r"^```console\n\$ quotalock (.*)\n((?s:.*?))^```$", guide.read_text(), re.MULTILINE)
    assert len(blocks) == 1
    for words, shown in blocks:
        said = says(*shlex.split(words), cwd=LOG.parent)
        assert [line.rstrip() for line in said.splitlines()] == shown.splitlines()


def test_the_virtual_host_and_syslog_are_not_the_client(tmp_path: Path) -> None:
    line = combined("192.0.2.1", 0)
    heads = ("", "www.example.com:443 ", "shop.example.com ", "203.0.113.80:80 ", "<190>May 17 10:05:03 web nginx: ")
    log = write(tmp_path, "log", *(head + line for head in heads))
    report = tells("simulate", "--policy", "1/minute", log)
    assert (report["clients"], report["policies"][0]["denied"]) == (1, len(heads) - 1)
    assert report["policies"][0]["worst"][0]["client"] == "192.0.2.1"
    # Which of two bare addresses is the client nobody can tell.
    log = write(tmp_path, "log", "203.0.113.80 " + line)
    report = tells("simulate", "--policy", "1/minute", log, code=1)
    assert (report["requests"], report["left_out"][0]["why"]) == (0, "unreadable")
