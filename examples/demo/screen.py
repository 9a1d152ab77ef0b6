"""What a run shows while it goes on: a line a second, 100 columns wide at most."""

from __future__ import annotations

import sys
from pathlib import Path

from accesslog import Count
from fleet import Service
from needs import ROOT
from rediskey import Look
from sale import Director
from sale_outcome import Event

WIDTH = 100
BAR = 20
WIDE_BAR = 36


def act(number: int, title: str, about: str) -> None:
    """Opens an act."""
    print(f"\n{_paint('1', f'Act {number}: {title}')}\n{about}\n", flush=True)


class Seconds:
    """Shows the seconds of an onslaught under a heading; a bar shows what share of `limit` per second was admitted."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        print(f"{'second':>6} {'admitted':>9} {'denied':>8}  {'':<{BAR}}  {'key':>12} {'TTL':>8}")

    def __call__(self, second: int, count: Count, look: Look) -> None:
        length = min(BAR, round(count.admitted / self._limit * (BAR - 2)))
        bar = _paint("31" if count.admitted == 0 else "32", ("#" * length).ljust(BAR))
        other = f"  {count.other} failed" if count.other else ""
        line = f"{second:>6} {count.admitted:>9,} {count.denied:>8,}  {bar}"
        print(f"{line}  {look.describe_value():>12} {look.describe_ttl():>8}{other}", flush=True)


def death(after: float, look: Look) -> None:
    """Marks the moment from which nobody is admitted any more."""
    what = f"dead after {after:.2f} s: key at {look.describe_value()}, no TTL."
    print(_paint("1;31", f"  ---- {what} From here on every buyer is refused."), flush=True)


class Services:
    """Shows what each service was answered in each second."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}

    def __call__(self, second: int, services: list[Service]) -> None:
        if second == 1:
            print(f"{'second':>6}" + "".join(f"{service.language + ' admitted, denied':>27}" for service in services))
        line = f"{second:>6}"
        for service in services:
            now = (service.admitted.total(), service.requests.total())
            before = self._before.get(service.language, (0, 0))
            admitted, asked = now[0] - before[0], now[1] - before[1]
            self._before[service.language] = now
            line += f"{admitted:>19,}{asked - admitted:>8,}"
        print(line, flush=True)


class Sale:
    """Shows the numbers of the sale in each second, and how many of each language have paid."""

    def __init__(self) -> None:
        print(f"{'second':>6} {'available':>9} {'held':>6} {'sold':>6}  {'':<{WIDE_BAR}}  paid in PHP  Python    Node")

    def __call__(self, second: int, director: Director) -> None:
        status, quantity = director.status(), director.result.quantity
        if status is None:
            line = f"{second:>6} {'Redis is away':>23}  {'':<{WIDE_BAR}}"
        else:
            sold = round(status.sold / quantity * WIDE_BAR)
            taken = round((status.sold + status.held) / quantity * WIDE_BAR)
            bar = _paint("34", "#" * sold) + _paint("33", "=" * (taken - sold)) + "." * (WIDE_BAR - taken)
            line = f"{second:>6} {status.available:>9,} {status.held:>6,} {status.sold:>6,}  {bar}"
        paid = [len(director.crowds[language].paid) for language in ("PHP", "Python", "Node")]
        print(f"{line}  {paid[0]:>11,} {paid[1]:>7,} {paid[2]:>7,}", flush=True)


def event(what: Event) -> None:
    """Marks something that went wrong."""
    print(_paint("1;31", f"  ---- {what.text}"), flush=True)


def end(tables: str, out: Path, took: float) -> None:
    """Shows the tables and where everything was written."""
    place = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    print(f"\n{tables}\nIn {took:.0f} s. Table, plot and figures: {place}", flush=True)


def _paint(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() else text
