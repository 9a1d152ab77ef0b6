"""The plot of a soak: memory, descriptors and threads of each load, and the connections of the servers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from statistics import median

from flat import Sample
from servers import ROOT

sys.path.insert(0, str(ROOT / "examples" / "demo"))

import axes

# The panels, with what is on them, and the colours of the loads.
PANELS = {
    "memory": "memory of its own of a process, MiB",
    "shared memory": "share of a process in shared memory, MiB",
    "by Quotalock": "allocated by Quotalock in a process, KiB",
    "descriptors": "descriptors",
    "threads": "threads",
}
COLOURS = {"Python": "#0969da", "asyncio": "#8250df", "Node": "#1a7f37", "php-fpm": "#bc4c00"}
COLOURS |= {"php-fpm, recycled": "#bf8700", "servers": "#57606a"}
WIDTH, LEFT, RIGHT, TOP, PANEL, GAP, BOTTOM = axes.WIDTH, 64, 150, 56, 120, 34, 40
# A line has so many points at most; each is the median of its part.
POINTS = 120

STYLE = f"""{axes.STYLE}  polyline {{ fill: none; stroke-width: 1.5 }}
  .warm {{ fill: #8c959f; opacity: 0.12 }}
  @media (prefers-color-scheme: dark) {{{axes.DARK}  }}
"""


def draw(series: Mapping[tuple[str, str], Sequence[Sample]], seconds: float, warm_up: float, calls: int) -> str:
    """The whole picture."""
    panels = [*PANELS.items(), ("connections", "connections of all servers")]
    height = TOP + len(panels) * (PANEL + GAP) + BOTTOM - GAP
    title = f"{seconds / 60:.0f} minutes of failovers and migrations, {calls:,} calls answered"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">{title}</title>',
        '<desc id="desc">Memory, descriptors, threads and connections stay flat after the warm-up.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        axes.text(LEFT, 30, title, "title"),
    ]
    for number, (what, heading) in enumerate(panels):
        lines = {name: samples for (name, kind), samples in series.items() if kind == what}
        parts += _panel(TOP + number * (PANEL + GAP), heading, lines, seconds, warm_up)
    for minute in range(0, int(seconds / 60) + 1, max(1, int(seconds / 60 / 6))):
        x = _x(minute * 60, seconds)
        parts.append(axes.text(x, height - BOTTOM + 18, str(minute), "", "middle"))
    parts.append(axes.text((LEFT + WIDTH - RIGHT) / 2, height - 8, "minutes; the warm-up is shaded", "", "middle"))
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    top: float, heading: str, lines: Mapping[str, Sequence[Sample]], seconds: float, warm_up: float
) -> list[str]:
    most = axes.round_up(max(number for samples in lines.values() for _, number in _thin(samples)) * 1.05)
    bottom = top + PANEL
    warm = _x(warm_up, seconds) - LEFT
    parts = [
        axes.text(LEFT, top - 6, heading, "label"),
        f'<rect class="warm" x="{LEFT}" y="{top}" width="{warm:.1f}" height="{PANEL}"/>',
    ]
    for number in (0, most / 2, most):
        y = bottom - number / most * PANEL
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(axes.text(LEFT - 8, y + 4.5, f"{number:g}", "", "end"))
    for at, (name, samples) in enumerate(lines.items()):
        points = " ".join(f"{_x(x, seconds):.1f},{bottom - y / most * PANEL:.1f}" for x, y in _thin(samples))
        colour = COLOURS[name]
        parts.append(f'<polyline points="{points}" stroke="{colour}"/>')
        x, y = WIDTH - RIGHT + 12, top + 12 + at * 18
        parts.append(f'<line x1="{x}" x2="{x + 14}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>')
        parts.append(axes.text(x + 20, y, name, ""))
    return parts


def _thin(samples: Sequence[Sample]) -> list[Sample]:
    """Fewer samples: the median of each part, where a look in the middle of a fault is none."""
    size = max(1, -(-len(samples) // POINTS))
    parts = [samples[at : at + size] for at in range(0, len(samples), size)]
    return [(median(x for x, _ in part), median(y for _, y in part)) for part in parts]


def _x(second: float, seconds: float) -> float:
    return LEFT + min(second / seconds, 1.0) * (WIDTH - LEFT - RIGHT)
