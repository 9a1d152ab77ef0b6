"""Sets the answers as Markdown: a table for each question, and above all what was the same for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import benchmark_charts
from rounds import NOISY
from tables import table

from compare.measure import Row, Turns
from compare.peers import Peer

# Of each figure: its heading, and whether more is better; none if it is neither.
FIGURES: dict[str, tuple[str, bool | None]] = {
    "calls_per_second": ("calls/s", True),
    "p50_us": ("p50 µs", False),
    "p99_us": ("p99 µs", False),
    "p999_us": ("p99.9 µs", False),
    "main_us": ("main thread µs", False),
    "client_us": ("CPU µs", False),
    "server_us": ("server µs", False),
    "reads": ("reads", None),
    "resident_mib": ("MiB", False),
    "connections": ("connections", None),
}
# A lead that is smaller tells nothing: rounds differ by more.
LEAD = 1.03
# Too much depends on what a process has loaded beside, and on what else the machine does.
UNJUDGED = ("resident_mib", "p99_us", "p999_us")

RULES = """
## Method

* Each call is one decision. All libraries get the same keys in the same order, with the same limit per fixed window of
  a day. A library without a fixed window uses its own algorithm, which the list at the end names.
* Redis is one process without persistence, reached over loopback. Only one library is measured at a time.
* Each library has its own process, which keeps its connections. The libraries take turns, round by round; each figure
  is the median of the rounds. A round in which other processes used more than 5 % of the cores is repeated, a few times
  at most.
* Before the measurement each library must allow exactly the limit and deny the rest, on one key. If a library allows
  too few or too many calls in a round, a line below the table shows the numbers.
* Libraries are set up for speed as their documentation advises: persistent connections, compiled parsers, hashes of
  scripts known in advance. Quotalock has its default settings.

## Not measured

* Networks, TLS and clusters. Over a network the number of round trips matters most: see the column "reads"
  of the tables with one call at a time.
* The content of the answers. Quotalock's answer contains the wait and the remaining calls. With a request id,
  Quotalock charges a call once even if replies are lost. Quotalock repairs a counter that lost its TTL. Scripts that
  only return yes or no do less work.
* Algorithms other than fixed windows, and other machines: use the ratios, not the figures.

## How to read the tables

* **CPU µs**: user and system time of the client's process per call, in all threads. **Main thread µs**: the part of
  the main thread, which in Node and asyncio runs the event loop.
* **Server µs**: CPU time of the server's process per call.
* **Reads**: how often the server read from a socket, per call: with one call at a time, the number of round trips.
* **MiB**: resident memory of the client's process after the warm-up, including the runtime of the language.
* **Times**: Quotalock's calls per second (first line of a group) divided by the peer's. **CPU**: the peer's CPU µs
  divided by Quotalock's. In both columns, values above 1 mean that Quotalock is ahead.
* **Peer ahead in**: the figures in which a peer is at least 3 % ahead, except MiB, p99 and p99.9.
"""


@dataclass(frozen=True)
class Answer:
    """What a question was answered: groups of turns, or the bytes of a key by language and library."""

    name: str
    title: str
    words: str
    turns: Sequence[Turns] = ()
    weights: Mapping[tuple[str, str], float] = field(default_factory=dict)


def page(answers: Sequence[Answer], heading: Sequence[str], settings: Sequence[tuple[str, Peer]], pictures: str) -> str:
    """The whole page."""
    parts = [
        "# Benchmarks: Quotalock and other libraries\n",
        "*`make compare` makes this page. Do not edit it.*\n",
        "This page compares speed, CPU time and memory of Quotalock with those of the libraries that it replaces.\n",
    ]
    parts += ["\n".join(f"* {line}" for line in heading), RULES.strip() + "\n"]
    for answer in answers:
        parts.append(f"## {answer.title}\n\n{answer.words}\n")
        if answer.turns:
            for language in dict.fromkeys(benchmark_charts.language(group.name) for group in answer.turns):
                chart = f"compare-{answer.name}-{benchmark_charts.SLUGS[language]}.svg"
                parts.append(f"![{answer.title}: {language}]({pictures}/{chart})\n")
        parts.append(_weights(answer.weights) if answer.weights else _figures(answer.turns))
        parts += [f"* {remark}" for remark in _why(answer.turns)]
        parts.append("")
    parts.append("## Setup of each library\n")
    parts += sorted({f"* {language}: **{peer.name}**: {peer.setting}." for language, peer in settings if peer.setting})
    return "\n".join(parts) + "\n"


def leads(ours: Row, theirs: Row) -> list[str]:
    """In which figures a peer is ahead of us."""
    found = []
    for figure, (heading, more) in FIGURES.items():
        mine, other = ours.median(figure), theirs.median(figure)
        if more is None or figure in UNJUDGED or mine is None or other is None:
            continue
        if (other > mine * LEAD) if more else (other * LEAD < mine):
            found.append(heading.removesuffix(" µs"))
    return found


def _figures(turns: Sequence[Turns]) -> str:
    known = [figure for figure in FIGURES if any(row.median(figure) is not None for each in turns for row in each.rows)]
    rows = []
    for group in turns:
        ours = group.rows[0]
        for row in group.rows:
            first = row is ours
            cells = [number(row.median(figure), figure) for figure in known]
            compared = ["", "", ""] if first else [*ratios(ours, row), _marked(ours, row)]
            rows.append([group.name if first else "", row.peer.name, *cells, *compared])
    head = ("", "", *(FIGURES[figure][0] for figure in known), "times", "CPU", "peer ahead in")
    return table(head, rows, left=2)


def ratios(ours: Row, row: Row) -> list[str]:
    """Our calls per second divided by the peer's, and its CPU per call by ours, as the page prints them."""
    pairs = (
        (ours.median("calls_per_second"), row.median("calls_per_second")),
        (row.median("client_us"), ours.median("client_us")),
    )
    return [f"{above / below:.2f}" if above is not None and below else "" for above, below in pairs]


def _marked(ours: Row, row: Row) -> str:
    if row.peer.floor:
        return "(not a peer)"
    if row.wrong:
        return "(decides wrongly)"
    ahead = leads(ours, row)
    return f"**{', '.join(ahead)}**" if ahead else ""


def _why(turns: Sequence[Turns]) -> list[str]:
    """Who is ahead and why, what was admitted wrongly, and what others disturbed."""
    ahead: dict[str, list[str]] = {}
    for group in turns:
        for row in group.rows[1:]:
            if not row.peer.floor and not row.wrong and leads(group.rows[0], row):
                why = row.peer.ahead or "Not explained yet."
                names = ahead.setdefault(why, [])
                if row.peer.name not in names:
                    names.append(row.peer.name)
    told = [f"Ahead in at least one figure: {'; '.join(names)}. {why}" for why, names in ahead.items()]
    told += [
        f"{group.name}: {row.peer.name} decides wrongly, so its figures cannot be compared: {row.wrong[0]}."
        for group in turns
        for row in group.rows
        if row.wrong
    ]
    noisy = [f"{group.name} ({max(group.others):.0%})" for group in turns if max(group.others, default=0) > NOISY]
    if noisy:
        told.append(f"Noisy (share of the cores that other processes used in the worst round): {', '.join(noisy)}.")
    return told


def number(value: float | None, figure: str) -> str:
    """A figure as the page prints it."""
    if value is None:
        return ""
    if figure == "connections":
        return f"{value:,.0f}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _weights(measured: Mapping[tuple[str, str], float]) -> str:
    """The bytes of a key."""
    ours = next(iter(measured.values()))
    rows = [
        [language, name, f"{size:.0f}", f"{size * 1e6 / (1 << 20):,.0f}", f"{size / ours:.2f}", "**memory**"]
        for (language, name), size in measured.items()
    ]
    for number, row in enumerate(rows):
        smaller = number and float(row[4]) * LEAD < 1
        row[5] = row[5] if smaller else ""
    return table(("", "", "bytes", "MiB per million", "vs. Quotalock", "peer ahead in"), rows, left=2)
