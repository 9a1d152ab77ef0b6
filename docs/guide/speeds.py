"""The figures of speed that pages quote, from the data of the benchmarks in docs/data; `make figures` sets them.

`make compare` writes benchmarks.json; frameworks.json has what `make bench ONLY=frameworks-...` printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import benchmark_charts
from layout import table

ROOT = Path(__file__).resolve().parents[2]
DATA: dict[str, Any] = json.loads((ROOT / "docs/data/benchmarks.json").read_text())
FRAMEWORKS: dict[str, Any] = json.loads((ROOT / "docs/data/frameworks.json").read_text())
# The machine, the date, the load before, the server, the rounds; the versions of all libraries follow.
CONDITIONS: list[str] = [part.strip() for line in DATA["conditions"][:2] for part in line.split(";")][:5]
PAGE, README = ROOT / "docs/speed.md", ROOT / "README.md"
OURS = benchmark_charts.OURS
HEAD = ("", "Quotalock", "compared with", "its calls per second", "speed", "CPU")
# A comparison: the question, the group, and the library that is compared with ours, the first of its group.
Compared = tuple[str, str, str]

ONE_CALL = (
    ("uncontended", "PHP", "phpredis, Lua"),
    ("uncontended", "PHP", "Laravel RateLimiter"),
    ("uncontended", "PHP", "Symfony RateLimiter, lock"),
    ("uncontended", "PHP, unix socket", "phpredis, Lua, unix socket"),
    ("uncontended", "Python", "redis-py, Lua"),
    ("uncontended", "Python", "limits"),
    ("uncontended", "asyncio", "redis.asyncio, Lua"),
    ("uncontended", "asyncio", "throttled-py"),
    ("uncontended", "Node", "ioredis 6, Lua"),
    ("uncontended", "Node", "rate-limiter-flexible"),
)
MANY_CALLS = (
    ("uncontended", "Python, 8 threads", "redis-py, Lua"),
    ("in-flight", "asyncio, 100 in flight", "redis.asyncio, Lua"),
    ("in-flight", "asyncio, 1,000 in flight", "redis.asyncio, Lua"),
    ("in-flight", "Node, 100 in flight", "ioredis 6, Lua"),
    ("in-flight", "Node, 1,000 in flight", "ioredis 6, Lua"),
)
DENIED = (
    ("hot-key", "PHP", "phpredis, Lua"),
    ("hot-key", "Python", "redis-py, Lua"),
    ("hot-key", "asyncio", "redis.asyncio, Lua"),
    ("hot-key", "Node", "ioredis 6, Lua"),
    ("hot-key", "Node", "rate-limiter-flexible, in-memory block"),
)
PREFETCH = tuple(("hot-admitted", group, OURS) for group in ("PHP", "Python", "asyncio", "Node"))
IN_PROCESS = (
    ("in-process", "Rust", "governor"),
    ("in-process", "Python", "limits, memory"),
    ("in-process", "PHP", "Symfony RateLimiter, memory"),
    ("in-process", "Node", "RateLimiterMemory"),
)
LOCKS = (
    ("locks", "PHP", "Symfony Lock"),
    ("locks", "PHP", "Laravel Cache lock"),
    ("locks", "Python", "redis-py Lock"),
    ("locks", "Node", "redis-semaphore Mutex"),
    ("locks", "Node", "redlock 4"),
)
CACHES = (
    ("caches", "PHP", "Symfony Cache"),
    ("caches", "PHP", "Laravel Cache"),
)
REQUESTS = (
    ("requests", "php-fpm, nginx, allowed", "phpredis, Lua"),
    ("requests", "php-fpm, nginx, allowed", "Laravel RateLimiter"),
    ("requests", "php-fpm, nginx, denied", "Laravel RateLimiter"),
    ("requests", "FastAPI, uvicorn, allowed", "slowapi"),
    ("requests", "FastAPI, uvicorn, denied", "slowapi"),
    ("requests", "Fastify, allowed", "@fastify/rate-limit"),
    ("requests", "Fastify, denied", "@fastify/rate-limit"),
)
IN_README = (
    ("in-flight", "Node, 100 in flight", "ioredis 6, Lua"),
    ("uncontended", "Python, 8 threads", "redis-py, Lua"),
    ("uncontended", "PHP", "phpredis, Lua"),
)


def group(question: str, name: str) -> Mapping[str, Any]:
    """The group of a question."""
    (groups,) = [each["groups"] for each in DATA["questions"] if each["name"] == question]
    (found,) = [each for each in groups if each["name"] == name]
    return dict(found)


def figure(question: str, name: str, library: str, of: str = "calls_per_second") -> float:
    """One figure of a library, by default its calls per second."""
    (row,) = [row for row in group(question, name)["rows"] if row["library"] == library]
    return float(row[of])


def conditions() -> str:
    """What was the same for all figures of the page."""
    machine, date, load, server, rounds = CONDITIONS
    lines = (machine, server, f"{rounds}", f"{date}; {load} the run")
    return "".join(f"* {line}\n" for line in lines)


def compared(rows: Sequence[Compared]) -> str:
    """A table of comparisons, and how busy the machine was."""
    lines = []
    for question, name, library in rows:
        ours = group(question, name)["rows"][0]["library"]
        calls, others = (figure(question, name, each) for each in (ours, library))
        speed, cpu = (times(figure(question, name, library, of)) for of in ("speed", "cpu"))
        lines.append([name, f"{calls:,.0f}", _library(library), f"{others:,.0f}", speed, cpu])
    return table(HEAD, lines, left=(0, 2)) + _noise(rows)


def times(ratio: float) -> str:
    """A ratio; bold where the other one is ahead."""
    text = f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:,.0f}x"
    return f"**{text}**" if ratio < 1 else text


def in_readme() -> str:
    """Three rows, and their conditions."""
    lines, noises = [], []
    for question, name, library in IN_README:
        calls, others = (figure(question, name, each) for each in (OURS, library))
        ratio = times(figure(question, name, library, "speed")).replace("x**", "x: slower**")
        label = name if "," in name else f"{name}, one call at a time"
        lines.append([label, f"{calls:,.0f}", _library(library), f"{others:,.0f}", ratio])
        noises += [(name, noise) for noise in [group(question, name).get("noise")] if noise]
    machine, date, _, server, _ = CONDITIONS
    told = "".join(
        f" The figures of {name} are less exact: other processes used {noise:.0%} of the cores in the worst round."
        for name, noise in noises
    )
    heading = (
        f"Calls per second, all allowed. Medians of one run of `make compare` on {date.split()[0]} "
        f"({machine.partition(' (')[0]}, {server}).\n{told.strip()}\n\n"
    ).replace("%", " %")
    return heading + table(("", "Quotalock", "compared with", "", "speed"), lines, left=(0, 2))


def memory() -> str:
    """The bytes of a key on the server."""
    rows = [[row["language"], row["library"], f"{row['bytes']:,}"] for row in DATA["memory"] if row["library"] != OURS]
    ours = next(row["bytes"] for row in DATA["memory"] if row["library"] == OURS)
    return table(("", "library", "bytes"), [["all languages", OURS, f"{ours:,}"], *rows], left=(0, 1))


def frameworks() -> str:
    """Ratios for each framework."""
    php = [
        [row["predecessor"], f"{row['requests']:g}x", f"{row['p99']:g}x", f"{row['in_process']:g}x"]
        for row in FRAMEWORKS["php"]
    ]
    others = [
        [row["predecessor"], *(f"{row[kind]:g}x" if kind in row else "" for kind in ("allowed", "denied", "prefetch"))]
        for row in FRAMEWORKS["others"]
    ]
    head = ("compared with", "requests per second", "p99 (less is better)", "calls per second in one process")
    first = table(head, php)
    second = table(("compared with", "allowed", "denied", "100 busy keys, with `prefetch: 50`"), others)
    return f"{first}\n{second}"


def _library(name: str) -> str:
    return "Quotalock without `prefetch`" if name == OURS else name.replace(", Lua", " and a script", 1)


def _noise(rows: Sequence[Compared]) -> str:
    shares = {name: group(question, name).get("noise") for question, name, _ in rows}
    noisy = "; ".join(f"{name} {share:.0%}" for name, share in shares.items() if share).replace("%", " %")
    return f"\nCores used by other processes in the worst round: {noisy}.\n" if noisy else ""


# Each block: which page it is in, and what makes it.
BLOCKS: dict[str, tuple[Path, Callable[[], str]]] = {
    "speed-readme": (README, in_readme),
    "speed-conditions": (PAGE, conditions),
    "speed-one-call": (PAGE, lambda: compared(ONE_CALL)),
    "speed-many-calls": (PAGE, lambda: compared(MANY_CALLS)),
    "speed-denied": (PAGE, lambda: compared(DENIED)),
    "speed-prefetch": (PAGE, lambda: compared(PREFETCH)),
    "speed-in-process": (PAGE, lambda: compared(IN_PROCESS)),
    "speed-locks": (PAGE, lambda: compared(LOCKS)),
    "speed-caches": (PAGE, lambda: compared(CACHES)),
    "speed-requests": (PAGE, lambda: compared(REQUESTS)),
    "speed-frameworks": (PAGE, frameworks),
    "speed-memory": (PAGE, memory),
}
