"""The picture of a question: a bar of calls a second for everybody in each group, with the CPU of a call beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bars import STYLE

from compare.measure import Turns

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 270, 190, 62, 20
ROW, BAR, GAP = 20, 13, 30
# Quotalock's bars stand out by more than their colour: its names are bold.
MORE = "  .ours { font-weight: 600 }\n  .peer { fill: #8c959f }\n"


def draw(title: str, turns: Sequence[Turns]) -> str:
    """Draws it. Each group has a scale of its own, from nothing to its fastest."""
    rows = sum(len(group.rows) for group in turns)
    height = TOP + GAP * len(turns) + ROW * rows + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(_described(turns))}</desc>',
        f"<style>{STYLE}{MORE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(24, 34, title, "title"),
        _text(24, 52, "calls a second, longer is better; CPU of the client for a call, less is better", "value"),
    ]
    y = TOP
    for group in turns:
        lines.append(_text(24, y + 20, group.name, "name"))
        y += GAP
        most = max(row.median("calls_per_second") or 0 for row in group.rows) or 1
        for number, row in enumerate(group.rows):
            rate, cpu = row.median("calls_per_second") or 0, row.median("client_us")
            width = max(1.0, rate / most * (WIDTH - LEFT - RIGHT))
            kind = "calls" if number == 0 else "peer"
            lines.append(_text(LEFT - 8, y + BAR - 2, row.peer.name, "ours name" if number == 0 else "", "end"))
            lines.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="1.5"/>')
            told = f"{rate:,.0f}/s" + (f", {cpu:,.2f} µs" if cpu is not None else "")
            lines.append(_text(LEFT + width + 6, y + BAR - 2, told, "value"))
            y += ROW
    return "\n".join([*lines, "</svg>\n"])


def _described(turns: Sequence[Turns]) -> str:
    return "; ".join(
        f"{group.name}: "
        + ", ".join(f"{row.peer.name} {row.median('calls_per_second') or 0:,.0f}" for row in group.rows)
        for group in turns
    )


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
