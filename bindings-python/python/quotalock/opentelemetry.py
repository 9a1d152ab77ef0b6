"""Quotalock's counters through OpenTelemetry's metrics, for applications that have it.

    from quotalock.opentelemetry import instrument

    instrument()

The numbers are those of `quotalock.metrics()`: of this process and those that count with it. So one of these processes
tells all: that which calls this. Its forks are silent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakSet

from . import __version__, metrics
from ._require import require

require("opentelemetry-api", "1.20", "opentelemetry")

from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation, get_meter_provider  # noqa: E402

if TYPE_CHECKING:
    from ._native import _Metric, _Sample

__all__ = ["instrument"]

_Observe = Callable[[CallbackOptions], Iterable[Observation]]

_instrumented: WeakSet[MeterProvider] = WeakSet()


def instrument(meter_provider: MeterProvider | None = None) -> None:
    """Has a meter provider (None: the application's) observe what Quotalock counts. A second time it does nothing.

    The names are Prometheus' with dots: `quotalock.decisions`, with the attributes `limiter`, `result` and `source`. Of
    a histogram there are `.count` and `.sum`: OpenTelemetry has no instrument for one that was counted elsewhere.
    """
    provider = meter_provider or get_meter_provider()
    if provider in _instrumented:
        return
    _instrumented.add(provider)
    meter = provider.get_meter("quotalock", __version__)
    for metric in metrics():
        _observe(meter, metric)


def _observe(meter: Meter, metric: _Metric) -> None:
    name = metric["name"].removesuffix("_total").removesuffix("_seconds").replace("_", ".")
    word = name.rpartition(".")[2]
    unit = f"{{{word[:-1] if word.endswith('s') else 'event'}}}"
    if metric["kind"] == "histogram":
        meter.create_observable_counter(f"{name}.count", [_part(metric, "count")], "{event}", metric["help"])
        meter.create_observable_counter(f"{name}.sum", [_part(metric, "sum")], "s", metric["help"])
    elif metric["kind"] == "gauge":
        meter.create_observable_gauge(name, [_part(metric, "value")], "1", metric["help"])
    else:
        meter.create_observable_counter(name, [_part(metric, "value")], unit, metric["help"])


def _part(metric: _Metric, part: str) -> _Observe:
    """Observes a part of each sample of a metric."""
    name, teller = metric["name"], os.getpid()

    def observe(_: CallbackOptions) -> Iterator[Observation]:
        # What was forked counts into the same table.
        found = [each for each in metrics() if each["name"] == name] if os.getpid() == teller else []
        for each in found:
            yield from (Observation(_number(sample, part), {**sample["labels"]}) for sample in each["samples"])

    return observe


def _number(sample: _Sample, part: str) -> int | float:
    return {"value": sample.get("value", 0), "count": sample.get("count", 0), "sum": sample.get("sum", 0.0)}[part]
