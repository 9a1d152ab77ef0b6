"""Counters as OpenTelemetry's own SDK collects them."""

from __future__ import annotations

import os
from typing import Any

import pytest
import quotalock
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from quotalock.opentelemetry import instrument
from surface import fresh_memory

# What is collected, as `(name, unit, attributes)` with its number.
Collected = dict[tuple[str, str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def reader() -> InMemoryMetricReader:
    """What a provider that is instrumented is read by."""
    reader = InMemoryMetricReader()
    instrument(MeterProvider(metric_readers=[reader]))
    return reader


def collected(reader: InMemoryMetricReader) -> Collected:
    found: Collected = {}
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data else []:
        for scope in resource.scope_metrics:
            assert scope.scope.name == "quotalock"
            assert scope.scope.version == quotalock.__version__
            for metric in scope.metrics:
                assert metric.description
                for point in metric.data.data_points:
                    labels = sorted((str(key), str(value)) for key, value in (point.attributes or {}).items())
                    name = (metric.name, metric.unit or "", tuple(labels))
                    assert name not in found, f"{name} is there twice"
                    found[name] = point.value  # type: ignore[union-attr]
    return found


def test_decisions_are_counted_by_limiter_result_and_source(reader: InMemoryMetricReader) -> None:
    client = quotalock.Client(fresh_memory())
    limiter = client.limiter("otel-decisions", "2/hour")
    for _ in range(3):
        limiter.consume("user:42")
    found = collected(reader)
    for result, count in ("allowed", 2), ("denied", 1):
        attributes = (("limiter", "otel-decisions"), ("result", result), ("source", "memory"))
        assert found["quotalock.decisions", "{decision}", attributes] == count
    # Never a key.
    assert "user:42" not in str(found)


def test_everything_that_is_counted_is_collected(reader: InMemoryMetricReader, url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0)
    with client.lock("sku:42"):
        client.limiter("otel-all", "2/hour").consume("a")
    client.cache("otel-all").get("k", lambda: "v")
    found = {(name, attributes): number for (name, _, attributes), number in collected(reader).items()}
    names = {name for name, _ in found}
    assert {"quotalock.lock.acquisitions", "quotalock.lock.hold.count", "quotalock.lock.hold.sum"} <= names
    assert {"quotalock.call.duration.count", "quotalock.call.duration.sum", "quotalock.cache.gets"} <= names
    assert found == expected(quotalock.metrics())
    client.close()


def expected(metrics: list[Any]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What `metrics()` says, by OpenTelemetry's names."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for metric in metrics:
        name = metric["name"].replace("_total", "").replace("_seconds", "").replace("_", ".")
        for sample in metric["samples"]:
            labels = tuple(sorted(sample["labels"].items()))
            if metric["kind"] == "histogram":
                found[name + ".count", labels] = sample["count"]
                found[name + ".sum", labels] = sample["sum"]
            else:
                found[name, labels] = sample["value"]
    return found


def test_a_provider_is_instrumented_once() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    instrument(provider)
    instrument(provider)
    quotalock.Client(fresh_memory()).limiter("otel-once", "2/hour").consume("a")
    found = [attributes for name, _, attributes in collected(reader) if name == "quotalock.decisions"]
    assert any(("limiter", "otel-once") in attributes for attributes in found)


def test_what_was_forked_is_silent(reader: InMemoryMetricReader) -> None:
    quotalock.Client(fresh_memory()).limiter("otel-fork", "2/hour").consume("a")
    assert collected(reader)
    if (child := os.fork()) == 0:
        os._exit(0 if collected(reader) == {} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
