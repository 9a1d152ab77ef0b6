"""The picture of acts 1 and 2: admitted per second, as an SVG that is read on a light and on a dark page."""

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
  .limit { stroke: #59636e; stroke-dasharray: 3 4 }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .label { font-weight: 600 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .broken.line { stroke: #cf222e }
  .broken.mark { stroke: #cf222e; stroke-dasharray: 5 4 }
  .broken.dot { fill: #cf222e }
  text.broken { fill: #cf222e }
  .cured.line { stroke: #0969da }
  text.cured { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d }
    .grid { stroke: #21262d }
    .limit { stroke: #9198a1 }
    text { fill: #9198a1 }
    .title { fill: #f0f6fc }
    .broken.line, .broken.mark { stroke: #ff7b72 }
    .broken.dot, text.broken { fill: #ff7b72 }
    .cured.line { stroke: #58a6ff }
    text.cured { fill: #58a6ff }
  }
"""


@dataclass(frozen=True)
class Axes:
    """Where seconds and admissions lie on the picture."""

    seconds: int
    top: int

    def x(self, second: float) -> float:
        """Maps seconds since the start to a pixel column."""
        return LEFT + second / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, admitted: float) -> float:
        """Maps admitted per second to a pixel row."""
        return HEIGHT - BOTTOM - admitted / self.top * (HEIGHT - TOP - BOTTOM)


def draw(broken: Sequence[int], cured: Sequence[int], *, dead_after: float, limit: float) -> str:
    """Draws the admitted of each second for both limiters, the death of the first and the limit per second."""
    seconds = max(len(broken), len(cured))
    axes = Axes(seconds, _round_up(1.35 * max(limit, *broken, *cured)))
    died = f"dead after {dead_after:.2f} s: from here on every buyer is refused"
    # The label keeps clear of the right edge and of the line, which falls only at the end of the second of the death.
    late = dead_after > seconds / 2
    anchor = "end" if late else "start"
    label = axes.x(dead_after) - 10 if late else axes.x(math.floor(dead_after) + 1) + 10
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            ' aria-labelledby="title desc">',
            '<title id="title">Purchases admitted per second, before and after</title>',
            f'<desc id="desc">SET NX PX and DECR: {died}. Quotalock: about {limit:g} a second to the end.</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
            _text(LEFT, 34, "One hot item, 100 users at once: purchases admitted per second", "title"),
            *_grid(axes),
            f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axes.y(limit):.1f}" y2="{axes.y(limit):.1f}"/>',
            _text(WIDTH - RIGHT, axes.y(limit) - 8, f"the limit: {limit:g} a second", "", "end"),
            _steps(axes, cured, "cured"),
            _steps(axes, broken, "broken"),
            _text(axes.x(seconds / 2), axes.y(limit) - 18, "Quotalock", "label cured", "middle"),
            f'<line class="broken mark" x1="{axes.x(dead_after):.1f}" x2="{axes.x(dead_after):.1f}"'
            f' y1="{TOP}" y2="{axes.y(0):.1f}"/>',
            f'<circle class="broken dot" cx="{axes.x(dead_after):.1f}" cy="{axes.y(0):.1f}" r="5"/>',
            _text(label, axes.y(0) - 34, "SET NX PX, then DECR", "label broken", anchor),
            _text(label, axes.y(0) - 14, died, "broken", anchor),
            "</svg>\n",
        ]
    )


def _grid(axes: Axes) -> list[str]:
    lines = []
    for admitted in range(0, axes.top + 1, _step(axes.top, 5)):
        y = axes.y(admitted)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(LEFT - 10, y + 4.5, str(admitted), "", "end"))
    for second in range(0, axes.seconds + 1, _step(axes.seconds, 8)):
        lines.append(_text(axes.x(second), HEIGHT - BOTTOM + 20, str(second), "", "middle"))
    lines.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "seconds since the first request", "", "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines.append(
        f'<text text-anchor="middle" transform="translate(20 {middle:.1f}) rotate(-90)">admitted per second</text>'
    )
    return lines


def _steps(axes: Axes, values: Sequence[int], name: str) -> str:
    """A line that is level over each second, since a value stands for all of it."""
    path: list[str] = []
    for second, value in enumerate(values):
        y = axes.y(value)
        path.append(f"{'L' if path else 'M'}{axes.x(second):.1f} {y:.1f}H{axes.x(second + 1):.1f}")
    return f'<path class="{name} line" d="{"".join(path)}"/>'


def _text(x: float, y: float, words: str, name: str, anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _step(span: int, ticks: int) -> int:
    """The distance of the marks on an axis: 1, 2 or 5 times a power of ten, for at most about `ticks` of them."""
    raw = max(1.0, span / ticks)
    power = 10 ** math.floor(math.log10(raw))
    return int(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw))


def _round_up(value: float) -> int:
    step = _step(math.ceil(value), 5)
    return math.ceil(value / step) * step
