"""Sets the figures as Markdown that also lines up on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rounds import FIGURES, Result

HEADINGS = ("calls/s", "p50 µs", "p99 µs", "CPU µs", "main thread µs", "server µs", "script µs")

LEGEND = """Medians of the rounds. CPU µs: user and system time of the client's process per call; main thread µs: of
that, its main thread's (Node); server µs: CPU of the server's process per call; script µs: of that, inside EVALSHA.
"On one core": server and client share a core, so what counts is the CPU that a call takes. "Apart": the server has a
core of its own, so what counts is how they wake each other, as over a network. Otherwise the kernel places them.
"A bare socket" writes bytes made beforehand and reads the reply: no client that does both once per call needs less.
Ratio: ours divided by the client above it, of the medians; of calls/s more is better, of all others less."""

Row = Sequence[str]


def table(header: Row, rows: Sequence[Row], *, left: int = 1) -> str:
    """Sets a table with the first `left` columns to the left and the others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Row) -> str:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    rule = [f"{'-' * (width + 1)}{'-' if column < left else ':'}" for column, width in enumerate(widths)]
    return "\n".join([line(header), f"|{'|'.join(rule)}|", *map(line, rows)]) + "\n"


def figures_table(results: Sequence[Result]) -> str:
    """Every client's figures, and below each other client the ratio of ours to it."""
    rows = []
    for result in results:
        for number, client in enumerate(result.measurement.clients):
            medians = [result.median(number, figure) for figure in FIGURES]
            rows.append([result.measurement.name if number == 0 else "", client.name, *map(_figure, medians)])
            if number > 0:
                ratios = [result.ratio(figure, number) for figure in FIGURES]
                rows.append(["", "ratio", *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)])
    return table(("measurement", "client", *HEADINGS), rows, left=2)


def targets_table(results: Sequence[Result]) -> str:
    """What was to be reached, what was, how far single rounds differ, and what a bare socket reached."""
    rows = []
    for result in results:
        for target in result.measurement.targets:
            ratio = result.ratio(target.figure)
            if ratio is None:
                continue
            single = result.ratios(target.figure)
            rows.append(
                [
                    result.measurement.name,
                    f"{HEADINGS[FIGURES.index(target.figure)]} of {result.measurement.clients[1].name}",
                    f"{'at least' if target.at_least else 'at most'} {target.bound:.2f}",
                    f"{ratio:.2f}",
                    f"{min(single):.2f} to {max(single):.2f}",
                    _floor(results, result, target.figure),
                    "reached" if target.reached(ratio) else "NOT reached",
                ]
            )
    return table(("target", "ratio of ours to", "bound", "ratio", "single rounds", "bare socket", ""), rows, left=2)


def _floor(results: Sequence[Result], result: Result, figure: str) -> str:
    """The ratio that a bare socket in our place had, if it was measured in the same way."""
    for floor in results:
        this, that = floor.measurement, result.measurement
        alike = (this.lanes, this.denied, this.placement) == (that.lanes, that.denied, that.placement)
        if this.language == "Rust" and alike:
            bare, raw = floor.median(1, figure), result.median(1, figure)
            return f"{bare / raw:.2f}" if bare and raw else ""
    return ""


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"
