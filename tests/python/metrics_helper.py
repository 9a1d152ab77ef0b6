"""What was counted, as tests look at it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

# What is counted with its labels, as `decisions{limiter=a,result=allowed,source=redis}`.
Counts = dict[str, float]

_BEGINNING = """
import asyncio, json, os, sys, time
import quotalock
from quotalock import aio
url, prefix = sys.argv[1:3]
"""
# The process' own thread may still count, so both forms are read until nothing changed between two readings.
_END = """
give_up = time.monotonic() + 50
while True:
    before, text, after = quotalock.metrics(), quotalock.prometheus(), quotalock.metrics()
    if before == after:
        break
    assert time.monotonic() < give_up, "the counters do not come to rest"
print(json.dumps({"metrics": after, "text": text}))
"""


def of_text(text: str) -> Counts:
    """What a text says. It fails if that is not as Prometheus wants it, or if a series is there twice."""
    counts: Counts = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            name = _named(sample.name, sample.labels)
            assert name not in counts, f"{name} is there twice"
            counts[name] = sample.value
    return counts


def of_metrics(metrics: list[dict[str, Any]]) -> Counts:
    """What `metrics()` says, in the same form."""
    counts: Counts = {}
    for metric in metrics:
        for sample in metric["samples"]:
            labels = sample["labels"]
            if metric["kind"] != "histogram":
                counts[_named(metric["name"], labels)] = sample["value"]
                continue
            for bound, count in sample["buckets"]:
                end = "+Inf" if bound == float("inf") else str(float(bound)).removesuffix(".0")
                counts[_named(metric["name"] + "_bucket", {**labels, "le": end})] = count
            counts[_named(metric["name"] + "_sum", labels)] = sample["sum"]
            counts[_named(metric["name"] + "_count", labels)] = sample["count"]
    return counts


def _named(name: str, labels: dict[str, str]) -> str:
    short = name.removeprefix("quotalock_")
    return f"{short}{{{','.join(f'{key}={value}' for key, value in sorted(labels.items()))}}}"


def counted(script: str, url: str = "memory://", prefix: str = "x", **environment: str) -> Counts:
    """What is counted in a process of its own that runs a script, which has `url` and `prefix`."""
    run = subprocess.run(
        [sys.executable, "-c", _BEGINNING + script + _END, url, prefix],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    counts = of_text(told["text"])
    assert counts == of_metrics(told["metrics"]), "both say the same"
    return counts


def only(counts: Counts, family: str) -> Counts:
    """Those of one metric, by their labels."""
    return {name[len(family) :]: count for name, count in counts.items() if name.startswith(family + "{")}


def decisions(counts: Counts) -> dict[tuple[str, str, str], float]:
    """Decisions by limiter, result and source."""
    pairs = (({**_labels(name)}, count) for name, count in only(counts, "decisions_total").items())
    return {(labels["limiter"], labels["result"], labels["source"]): count for labels, count in pairs}


def _labels(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.strip("{}").split(","))


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
