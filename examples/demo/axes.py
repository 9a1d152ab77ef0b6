"""What the pictures of the demo have in common: a card with axes, as an SVG that is read on a light and a dark page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 800, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 64, 56

# A card with a ground of its own: an image on a page knows the reader's system, but not the page's own colours.
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  .grid { stroke: #d8dee4 }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .label { font-weight: 600 }
"""
DARK = """
    .card { fill: #0d1117; stroke: #30363d }
    .grid { stroke: #21262d }
    text { fill: #9198a1 }
    .title { fill: #f0f6fc }
"""


@dataclass(frozen=True)
class Axes:
    """Where seconds and a number lie on the picture."""

    seconds: int
    top: int

    def x(self, second: float) -> float:
        """Maps seconds since the start to a pixel column."""
        return LEFT + second / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, number: float) -> float:
        """Maps a number to a pixel row."""
        return HEIGHT - BOTTOM - number / self.top * (HEIGHT - TOP - BOTTOM)


def card(title: str, description: str, heading: str, style: str, dark: str, parts: Sequence[str]) -> str:
    """Puts the parts of a picture onto a card; `style` and `dark` are for what only this one has."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            ' aria-labelledby="title desc">',
            f'<title id="title">{title}</title>',
            f'<desc id="desc">{description}</desc>',
            f"<style>{STYLE}{style}  @media (prefers-color-scheme: dark) {{{DARK}{dark}  }}\n</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
            text(LEFT, 34, heading, "title"),
            *parts,
            "</svg>\n",
        ]
    )


def grid(axes: Axes, rows: str, columns: str) -> list[str]:
    """Draws lines for round numbers, and names both axes."""
    lines = []
    for number in range(0, axes.top + 1, _step(axes.top, 5)):
        y = axes.y(number)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(text(LEFT - 10, y + 4.5, str(number), "", "end"))
    for second in range(0, axes.seconds + 1, _step(axes.seconds, 8)):
        lines.append(text(axes.x(second), HEIGHT - BOTTOM + 20, str(second), "", "middle"))
    lines.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, columns, "", "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines.append(f'<text text-anchor="middle" transform="translate(20 {middle:.1f}) rotate(-90)">{rows}</text>')
    return lines


def text(x: float, y: float, words: str, name: str, anchor: str = "start") -> str:
    """Writes words at a place."""
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def round_up(value: float) -> int:
    """The first number above that has a line of the grid."""
    step = _step(math.ceil(value), 5)
    return math.ceil(value / step) * step


def _step(span: int, ticks: int) -> int:
    """The distance of the marks on an axis: 1, 2 or 5 times a power of ten, for at most about `ticks` of them."""
    raw = max(1.0, span / ticks)
    power = 10 ** math.floor(math.log10(raw))
    return int(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw))
