"""Processes of three languages that count in one file: each tells of all, also of those that were killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from workers import Worker

CALLS = 40
NAMES = ("python", "node", "php")


def told(environment: dict[str, str]) -> dict[tuple[str, str], float]:
    """Decisions by limiter and result, as a new process tells them."""
    command = [sys.executable, "-c", "import quotalock; print(quotalock.prometheus())"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    families = text_string_to_metric_families(run.stdout)
    samples = [sample for family in families if family.name == "quotalock_decisions" for sample in family.samples]
    return {(sample.labels["limiter"], sample.labels["result"]): sample.value for sample in samples}


def test_processes_of_all_languages_count_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTALOCK_METRICS_FILE", str(tmp_path / "metrics"))
    url, prefix = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"], f"m{uuid.uuid4().hex[:12]}"
    expected = {("all", "allowed"): 3.0 * CALLS}
    for round_ in (1, 2):
        workers = [Worker(name) for name in NAMES]
        for worker in workers:
            assert "error" not in worker.client(url, prefix=prefix, timeout_ms=10_000)
        for worker in workers * CALLS:
            assert worker.decide("consume", "all", "1000000/1h", "secret:42", cost=1)["allowed"]
        for worker in workers:
            own = worker.decide("consume", f"of {worker.name}", "1/1h", "k", cost=1)
            assert own["allowed"] == (round_ == 1)
            expected[(f"of {worker.name}", "allowed" if round_ == 1 else "denied")] = 1
        assert told(dict(os.environ)) == {**expected, ("all", "allowed"): 3.0 * CALLS * round_}
        for worker in workers:
            worker.kill()
    assert b"secret" not in (tmp_path / "metrics").read_bytes()
    assert (tmp_path / "metrics").stat().st_mode & 0o777 == 0o600
