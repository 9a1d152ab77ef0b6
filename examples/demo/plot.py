"""The picture of acts 1 and 2: admitted per second."""

from __future__ import annotations

import math
from collections.abc import Sequence

from axes import LEFT, RIGHT, TOP, WIDTH, Axes, card, grid, round_up, text

STYLE = """
  .limit { stroke: #59636e; stroke-dasharray: 3 4 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .broken.line { stroke: #cf222e }
  .broken.mark { stroke: #cf222e; stroke-dasharray: 5 4 }
  .broken.dot { fill: #cf222e }
  text.broken { fill: #cf222e }
  .cured.line { stroke: #0969da }
  text.cured { fill: #0969da }
"""
DARK = """
    .limit { stroke: #9198a1 }
    .broken.line, .broken.mark { stroke: #ff7b72 }
    .broken.dot, text.broken { fill: #ff7b72 }
    .cured.line { stroke: #58a6ff }
    text.cured { fill: #58a6ff }
"""


def draw(broken: Sequence[int], cured: Sequence[int], *, dead_after: float, limit: float) -> str:
    """Draws the admitted of each second for both limiters, the death of the first and the limit per second."""
    seconds = max(len(broken), len(cured))
    axes = Axes(seconds, round_up(1.35 * max(limit, *broken, *cured)))
    died = f"dead after {dead_after:.2f} s: from here on every buyer is refused"
    # The label keeps clear of the right edge and of the line, which falls only at the end of the second of the death.
    late = dead_after > seconds / 2
    anchor = "end" if late else "start"
    label = axes.x(dead_after) - 10 if late else axes.x(math.floor(dead_after) + 1) + 10
    return card(
        "Purchases admitted per second, before and after",
        f"SET NX PX and DECR: {died}. Quotalock: about {limit:g} a second to the end.",
        "One hot item, 100 users at once: purchases admitted per second",
        STYLE,
        DARK,
        [
            *grid(axes, "admitted per second", "seconds since the first request"),
            f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{axes.y(limit):.1f}" y2="{axes.y(limit):.1f}"/>',
            text(WIDTH - RIGHT, axes.y(limit) - 8, f"the limit: {limit:g} a second", "", "end"),
            _steps(axes, cured, "cured"),
            _steps(axes, broken, "broken"),
            text(axes.x(seconds / 2), axes.y(limit) - 18, "Quotalock", "label cured", "middle"),
            f'<line class="broken mark" x1="{axes.x(dead_after):.1f}" x2="{axes.x(dead_after):.1f}"'
            f' y1="{TOP}" y2="{axes.y(0):.1f}"/>',
            f'<circle class="broken dot" cx="{axes.x(dead_after):.1f}" cy="{axes.y(0):.1f}" r="5"/>',
            text(label, axes.y(0) - 34, "SET NX PX, then DECR", "label broken", anchor),
            text(label, axes.y(0) - 14, died, "broken", anchor),
        ],
    )


def _steps(axes: Axes, values: Sequence[int], name: str) -> str:
    """A line that is level over each second, since a value stands for all of it."""
    path: list[str] = []
    for second, value in enumerate(values):
        y = axes.y(value)
        path.append(f"{'L' if path else 'M'}{axes.x(second):.1f} {y:.1f}H{axes.x(second + 1):.1f}")
    return f'<path class="{name} line" d="{"".join(path)}"/>'
