"""The picture of act 4: what is sold, held and available after each change, one on top of the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil

from axes import TOP, Axes, card, grid, text
from sale_outcome import Numbers, Sale

STYLE = """
  .sold.area { fill: #0969da }
  .held.area { fill: #d4a72c }
  .available.area { fill: #d8dee4 }
  .mark { stroke: #cf222e; stroke-dasharray: 5 4 }
  .away { fill: #cf222e; opacity: 0.25 }
  text.mark { stroke: none; fill: #cf222e; font-size: 12px }
  text.on { fill: #ffffff }
"""
DARK = """
    .sold.area { fill: #1f6feb }
    .held.area { fill: #bb8009 }
    .available.area { fill: #30363d }
    .mark { stroke: #ff7b72 }
    .away, text.mark { fill: #ff7b72 }
"""
# A change is seen from this many seconds on.
FINE = 0.02


def draw(sale: Sale) -> str:
    """Draws the sale to its last change, with all that was killed meanwhile."""
    axes = Axes(ceil(sale.last.at), sale.quantity)
    most_held = max(sale.numbers, key=lambda numbers: numbers.held)
    shown = f"{sale.last.sold} of {sale.quantity} sold to {sale.buyers:,} buyers"
    return card(
        "A flash sale in three languages",
        f"Sold, held and available units over time; what the dead held returns. At the end {shown}.",
        f"A flash sale: {shown}; what the dead held returns",
        STYLE,
        DARK,
        [
            _area(axes, sale, "available", lambda numbers: sale.quantity),
            _area(axes, sale, "held", lambda numbers: numbers.sold + numbers.held),
            _area(axes, sale, "sold", lambda numbers: numbers.sold),
            *grid(axes, "units", "seconds since the sale began"),
            *_marks(axes, sale),
            text(axes.x(axes.seconds * 0.85), axes.y(sale.quantity * 0.3), "sold", "label on", "middle"),
            text(axes.x(most_held.at), axes.y(most_held.sold + most_held.held / 2), "held", "label on", "middle"),
            text(axes.x(0) + 10, axes.y(sale.quantity * 0.8), "available", "label"),
        ],
    )


def _area(axes: Axes, sale: Sale, name: str, top: Callable[[Numbers], int]) -> str:
    """What lies between nothing and a number that changes in steps."""
    path = [f"M{axes.x(0):.1f} {axes.y(0):.1f}"]
    for numbers in _samples(sale):
        path.append(f"H{axes.x(numbers.at):.1f}V{axes.y(top(numbers)):.1f}")
    path.append(f"H{axes.x(axes.seconds):.1f}V{axes.y(0):.1f}Z")
    return f'<path class="{name} area" d="{"".join(path)}"/>'


def _samples(sale: Sale) -> Iterator[Numbers]:
    """The changes that can be told apart; the sale was opened before it began."""
    before = -1.0
    for numbers in (*sale.numbers[:-1], Numbers(max(0.0, sale.last.at), *_units(sale.last))):
        if numbers.at - before >= FINE or numbers.at == sale.last.at:
            yield Numbers(max(0.0, numbers.at), *_units(numbers))
            before = numbers.at


def _units(numbers: Numbers) -> tuple[int, int, int]:
    return numbers.available, numbers.held, numbers.sold


def _marks(axes: Axes, sale: Sale) -> Iterator[str]:
    """A line for each process that was killed while it had buyers, and the time that Redis was away."""
    begin, end = sale.away
    y, height = TOP, axes.y(0) - TOP
    yield (
        f'<rect class="away" x="{axes.x(begin):.1f}" y="{y}" width="{axes.x(end) - axes.x(begin):.1f}"'
        f' height="{height:.1f}"/>'
    )
    yield text(axes.x(begin) - 4, y - 6, "Redis away", "mark", "end")
    for event in sale.events:
        if event.buyers is not None:
            x = axes.x(event.at)
            yield f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{axes.y(0):.1f}"/>'
            yield text(x - 4, y - 6, f"{event.buyers} die", "mark", "end")
