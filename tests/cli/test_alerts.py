"""The rules, the dashboard and their guide: they ask for numbers that there are, each alert fires when it should, and
the guide tells what to do about each, and shows what the program prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Program
from member import Member
from quotalock import Client, prometheus
from servers import ROOT
from serving import Serving

DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus/alerts.yml"
GUIDE = ROOT / "docs/guide/alerts.md"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana/quotalock.json").read_text())
# Where the names stand of what is counted: in applications, and, without their beginning, by `quotalock serve`.
COUNTED = ROOT / "wire/src/metrics/snapshot.rs"
SEEN = ROOT / "cli/src/serve/metrics.rs"
ALERTS = re.findall(r"^      - alert: (\w+)$", RULES.read_text(), re.MULTILINE)
BLOCK = re.compile(r"^```console\n\$ quotalock (.*)\n((?:.*\n)*?)```$", re.MULTILINE)


def promtool(*words: str | Path) -> str:
    """What Prometheus' own tool says of a file that is right."""
    ended = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def asked(panels: list[dict[str, Any]]) -> Iterator[str]:
    """What the panels ask, with something in the place of their variables."""
    for panel in panels:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$job", ".*").replace("$limiter", ".*")


def names(expressions: str) -> set[str]:
    """The metrics in expressions; of a histogram the name that it has as a whole."""
    found = re.findall(r"\bquotalock_[a-z_]+\b", expressions)
    return {re.sub(r"(?<=_seconds)_(bucket|sum|count)$", "", name) for name in found}


def test_prometheus_takes_the_rules_and_the_example() -> None:
    promtool("check", "rules", RULES)
    promtool("check", "config", "--syntax-only", DEPLOY / "prometheus/scrape.yml")


@pytest.mark.long
def test_each_alert_fires_when_it_should() -> None:
    tests = DEPLOY / "prometheus/alerts_test.yml"
    assert "SUCCESS" in promtool("test", "rules", tests)
    assert [alert for alert in ALERTS if alert not in tests.read_text()] == []


def test_the_dashboard_can_be_imported(tmp_path: Path) -> None:
    panels = DASHBOARD["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(ids) == len(set(ids)) > 20
    places = set[tuple[int, int]]()
    for panel in panels:
        at = panel["gridPos"]
        own = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not own & places, f"{panel['title']} lies over another"
        assert all(x < 24 for x, _ in own)
        places |= own
        assert panel["type"] == "row" or panel["description"], f"{panel['title']} does not say what it shows"
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(asked(panels))]
    file = tmp_path / "panels.yml"
    # JSON is YAML.
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", file)


def test_they_ask_for_numbers_that_there_are() -> None:
    counted = re.findall(r'"(quotalock_\w+)"', COUNTED.read_text())
    seen = re.findall(r'text\.(?:series|gauge|one)\(\s*"(\w+)"', SEEN.read_text())
    assert len(counted) > 10
    assert len(seen) > 10
    wanted = names(RULES.read_text()) | names("\n".join(asked(DASHBOARD["panels"])))
    assert wanted - {*counted, *(f"quotalock_{name}" for name in seen)} == set()


def test_they_are_what_a_program_at_work_tells(redis: Member) -> None:
    """Of servers and keys: those that need a replica, reports, or calls that a stuck key denies are not there."""
    Client(redis.url, timeout=10.0).limiter("checkout", "1/hour").consume("user:1")
    redis.ask("SET", "limit:sku:42", "-37412")
    with Serving(redis.url) as serving:
        serving.login()
        serving.scanned()
        told = serving.metrics()
    assert not promtool_of_metrics(told)
    of_servers = names(RULES.read_text().partition("name: quotalock-servers")[2])
    of_others = {"quotalock_node_lag_seconds", "quotalock_reported_decisions_total", "quotalock_keys_stuck"}
    assert of_servers - names(told) == of_others
    assert re.search(r"^quotalock_keys_without_ttl\{family=\"set-nx-decr\"\} 1$", told, re.MULTILINE)
    assert re.search(r'^quotalock_node_up\{node="[^"]+",role="primary"\} 1$', told, re.MULTILINE)


def promtool_of_metrics(text: str) -> str:
    """What Prometheus' own tool has against what a program tells."""
    command = ["promtool", "check", "metrics"]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    return ended.stdout + ended.stderr


def test_what_applications_tell_is_as_prometheus_wants_it() -> None:
    limiter = Client("memory://alerts").limiter("api", "1/minute")
    assert [limiter.consume("k").allowed for _ in range(2)] == [True, False]
    assert not promtool_of_metrics(prometheus())
    assert "quotalock_decisions_total" in prometheus()


def test_the_examples_of_the_rules_are_numbers_that_there_are() -> None:
    tests = (DEPLOY / "prometheus/alerts_test.yml").read_text()
    assert names(" ".join(re.findall(r"quotalock_\w+", tests))) <= names(RULES.read_text())


@pytest.mark.parametrize("alert", ALERTS)
def test_the_guide_says_what_to_do(alert: str) -> None:
    (section,) = re.findall(rf"^## {alert}$(.*?)(?=^##? |\Z)", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    for part in ("Symptom", "Command", "ou see", "ure."):
        assert re.search(rf"\*\*[\w ]*{part}", section), f"{alert} has no {part}"
    assert f"runbook: docs/guide/alerts.md#{alert.lower()}\n" in RULES.read_text()


def test_the_dashboard_names_alerts_that_there_are() -> None:
    named = set(re.findall(r"Runbook: (\w+)", json.dumps(DASHBOARD)))
    assert len(named) > 10
    assert named <= set(ALERTS)


def test_the_unit_starts_what_there_is(quotalock: Program) -> None:
    unit = (DEPLOY / "systemd/quotalock-serve.service").read_text()
    (words,) = re.findall(r"^ExecStart=/usr/local/bin/quotalock (.*)$", unit, re.MULTILINE)
    command, *options = shlex.split(words)
    told = quotalock(command, "--help", url="redis://127.0.0.1:1").out
    assert [option for option in options if option.startswith("-") and option not in told] == []


def shown(command: str, which: int = 0) -> str:
    """What the guide shows as the answer to a command."""
    answers: list[str] = [told for words, told in BLOCK.findall(GUIDE.read_text()) if words == command]
    return answers[which]


# A version may have a fault that the guide's has not.
NOTE = re.compile(r"^note .*\n(?: +(?:means|do): .*\n)*", re.MULTILINE)


def said(quotalock: Program, redis: Member, command: str) -> str:
    """What the program answers, as if on the guide's server; nothing is used, so a look is enough."""
    ran = quotalock(*shlex.split(command), *(("--watch", "200ms") if command == "doctor" else ()))
    out = (ran.out + ran.error).replace(f"127.0.0.1:{redis.port}", "127.0.0.1:6379")
    return re.sub(r"Redis 7\.0\.\d+", "Redis 7.0.15", NOTE.sub("", out))


def test_the_guide_shows_what_the_doctor_says(redis: Member, quotalock: Program) -> None:
    redis.ask("SET", "limit:sku:42", "-37412")
    assert said(quotalock, redis, "doctor") == shown("doctor", 0)
    redis.ask("DEL", "limit:sku:42")
    redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    redis.ask("CONFIG", "SET", "maxmemory", "100mb")
    assert said(quotalock, redis, "doctor") == shown("doctor", 3)
    redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis.ask("CONFIG", "SET", "maxmemory", "1000")
    full = said(quotalock, redis, "doctor")
    command = "consume checkout user:42 --policy '10/minute'"
    refused = said(quotalock, redis, command)
    redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert re.sub(r"[\d,]+ %", "106 %", full) == shown("doctor", 2)
    assert refused == shown(command)


def test_the_guide_shows_who_is_refused(redis: Member, quotalock: Program) -> None:
    for words in (
        "consume login ip:203.0.113.9 --policy 5/hour --cost 3",
        "block login ip:203.0.113.9 --for 1h30m",
        "consume checkout user:7 --policy 10/minute --cost 10",
    ):
        assert quotalock(*words.split()).code == 0
    top = said(quotalock, redis, "top --once")
    # A millisecond may have passed, or a second.
    assert re.sub(r"\b5\ds |1m  ", "1m  ", top) == shown("top --once")
    redis.ask("SET", "ql:limit:checkout:{user:8}", "hello", "EX", "600")
    told = re.sub(r"TTL \w+, \d+ bytes", "TTL 10m, 88 bytes", said(quotalock, redis, "inspect checkout user:8"))
    assert told == shown("inspect checkout user:8")
