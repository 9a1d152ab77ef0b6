"""The picture of a run: how many times the raw client's calls we make, in a second and for the same CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rounds import Result

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 300, 64, 92, 40
GROUP, BAR = 40, 13

# The scale ends at 2 to the power of this; a bar that is shorter ends there, and its figure tells.
FLOOR = -2

# A card with a ground of its own: an image on a page knows the reader's system, but not the page's own colours.
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  .grid { stroke: #d8dee4 }
  .even { stroke: #59636e }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .name { fill: #1f2328 }
  .value { font-size: 12px }
  .calls { fill: #0969da }
  .cpu { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d }
    .grid { stroke: #21262d }
    .even { stroke: #9198a1 }
    text { fill: #9198a1 }
    .title, .name { fill: #f0f6fc }
    .calls { fill: #58a6ff }
    .cpu { fill: #bc8cff }
  }
"""


def draw(results: Sequence[Result]) -> str:
    """Draws two bars for each measurement on a scale of powers of two, from 1, where both are even."""
    pairs = [_advantages(result) for result in results]
    values = [value for pair in pairs for value in pair]
    low = max(FLOOR, math.floor(math.log2(min([1.0, *values]))))
    high = math.ceil(math.log2(max([2.0, *values])))
    height = TOP + GROUP * len(results) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (max(low, math.log2(value)) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        '<title id="title">Quotalock beside the raw client</title>',
        f'<desc id="desc">{_described(results, pairs)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(24, 34, "Quotalock beside the raw client: times as much, more is better", "title"),
        *_key(24, "calls", "calls a second"),
        *_key(160, "cpu", "calls for the same CPU of the client"),
    ]
    for power in range(low, high + 1):
        at, kind = x(2.0**power), "even" if power == 0 else "grid"
        lines.append(f'<line class="{kind}" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 10}" y2="{height - BOTTOM + 4}"/>')
        lines.append(_text(at, height - 16, f"{2**power}" if power >= 0 else f"1/{2**-power}", anchor="middle"))
    for number, (result, pair) in enumerate(zip(results, pairs, strict=True)):
        top = TOP + GROUP * number
        lines.append(_text(24, top + 11, result.measurement.name, "name"))
        lines.append(_text(24, top + 26, f"beside {result.measurement.clients[1].name}", "value"))
        for row, (kind, value) in enumerate(zip(("calls", "cpu"), pair, strict=True)):
            y, ends = top + row * (BAR + 1), sorted((x(1), x(value)))
            width = max(1.0, ends[1] - ends[0])
            lines.append(
                f'<rect class="{kind}" x="{ends[0]:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" rx="1.5"/>'
            )
            lines.append(_text(ends[1] + 6, y + BAR - 2.5, f"{value:.2f}", "value"))
    return "\n".join([*lines, "</svg>\n"])


def _advantages(result: Result) -> tuple[float, float]:
    """Calls a second over the raw client's, and its CPU per call over ours."""
    return result.ratio("calls_per_second") or 1.0, 1 / (result.ratio("client_us") or 1.0)


def _described(results: Sequence[Result], pairs: Sequence[tuple[float, float]]) -> str:
    return "; ".join(
        f"{result.measurement.name}: {calls:.2f} times the calls a second, {cpu:.2f} times the calls for the same CPU"
        for result, (calls, cpu) in zip(results, pairs, strict=True)
    )


def _key(x: float, kind: str, words: str) -> list[str]:
    return [f'<rect class="{kind}" x="{x}" y="50" width="12" height="12" rx="1.5"/>', _text(x + 18, 60.5, words)]


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
