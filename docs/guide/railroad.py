"""`make figures`: draws the grammar of policies as a railroad diagram, `docs/images/policy-grammar.svg`.

A line runs from left to right through what a policy may contain, in one of the ways that it branches.
"""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "images/policy-grammar.svg"
GAP = 14
RADIUS = 8
LINE = 34
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  path { fill: none; stroke: #59636e; stroke-width: 1.5 }
  text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; text-anchor: middle }
  text.title { font: 600 15px system-ui, -apple-system, "Segoe UI", sans-serif; text-anchor: start }
  .word { fill: #ddf4ff; stroke: #0969da }
  .part { fill: #f6f8fa; stroke: #59636e }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d }
    path { stroke: #9198a1 }
    text { fill: #f0f6fc }
    .word { fill: #121d2f; stroke: #58a6ff }
    .part { fill: #161b22; stroke: #9198a1 }
  }
"""


class Box:
    """A word as it is written, or the name of another diagram."""

    width: int
    up: int
    down: int

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.width = math.ceil(len(name) * 7.9) + 22
        self.up = self.down = 14

    def draw(self, x: int, y: int) -> list[str]:
        """The box, with its line coming in at x and y."""
        radius = 14 if self.kind == "word" else 3
        return [
            f'<rect class="{self.kind}" x="{x}" y="{y - 14}" width="{self.width}" height="28" rx="{radius}"/>',
            f'<text x="{x + self.width / 2}" y="{y + 4.5}">{escape(self.name)}</text>',
        ]


class Row:
    """One thing after another."""

    width: int
    up: int
    down: int

    def __init__(self, *things: Thing) -> None:
        self.things = things
        self.width = sum(thing.width for thing in things) + GAP * (len(things) - 1)
        self.up = max(thing.up for thing in things)
        self.down = max(thing.down for thing in things)

    def draw(self, x: int, y: int) -> list[str]:
        """The things, and the lines between them."""
        drawn = []
        for number, thing in enumerate(self.things):
            if number:
                drawn.append(f'<path d="M{x} {y}h{GAP}"/>')
                x += GAP
            drawn += thing.draw(x, y)
            x += thing.width
        return drawn


class Choice:
    """One of several things, the first on the line; `None` is nothing at all."""

    width: int
    up: int
    down: int

    def __init__(self, *things: Thing | None) -> None:
        self.things = things
        self.width = max(thing.width for thing in things if thing) + 4 * RADIUS
        self.up = things[0].up if things[0] else RADIUS
        self.offsets = [0]
        below = things[0].down if things[0] else RADIUS
        for thing in things[1:]:
            offset = max(below + (thing.up if thing else RADIUS) + 8, self.offsets[-1] + 2 * RADIUS)
            self.offsets.append(offset)
            below = offset + (thing.down if thing else RADIUS)
        self.down = below

    def draw(self, x: int, y: int) -> list[str]:
        """The branches, from the left and back to the right."""
        drawn = []
        for offset, thing in zip(self.offsets, self.things, strict=True):
            width = thing.width if thing else 0
            inner = self.width - 4 * RADIUS
            begin, end = x + 2 * RADIUS, x + 2 * RADIUS + width
            if offset:
                down = offset - 2 * RADIUS
                bend = f"a{RADIUS} {RADIUS} 0 0 1 {RADIUS} {RADIUS}v{down}a{RADIUS} {RADIUS} 0 0 0 {RADIUS} {RADIUS}"
                back = f"a{RADIUS} {RADIUS} 0 0 0 {RADIUS} -{RADIUS}v-{down}a{RADIUS} {RADIUS} 0 0 1 {RADIUS} -{RADIUS}"
                drawn.append(f'<path d="M{x} {y}{bend}"/>')
                drawn.append(f'<path d="M{end} {y + offset}h{inner - width}{back}"/>')
            else:
                drawn.append(f'<path d="M{x} {y}h{2 * RADIUS}M{end} {y}h{inner - width + 2 * RADIUS}"/>')
            if thing:
                drawn += thing.draw(begin, y + offset)
        return drawn


class Repeated:
    """A thing, again and again, with a separator between."""

    width: int
    up: int
    down: int

    def __init__(self, thing: Thing, separator: Box) -> None:
        self.thing, self.separator = thing, separator
        self.width = max(thing.width, separator.width) + 4 * RADIUS
        self.up = thing.up
        self.offset = thing.down + separator.up + 8
        self.down = self.offset + separator.down

    def draw(self, x: int, y: int) -> list[str]:
        """The thing on the line, and the way back below it."""
        inner = self.width - 4 * RADIUS
        begin, end = x + 2 * RADIUS, x + 2 * RADIUS + inner
        down = self.offset - 2 * RADIUS
        left = begin + (inner - self.separator.width) // 2
        right = left + self.separator.width
        return [
            f'<path d="M{x} {y}h{2 * RADIUS}M{begin + self.thing.width} {y}H{end + 2 * RADIUS}"/>',
            f'<path d="M{end} {y}a{RADIUS} {RADIUS} 0 0 1 {RADIUS} {RADIUS}v{down}'
            f'a{RADIUS} {RADIUS} 0 0 1 -{RADIUS} {RADIUS}H{right}"/>',
            f'<path d="M{left} {y + self.offset}H{begin}a{RADIUS} {RADIUS} 0 0 1 -{RADIUS} -{RADIUS}v-{down}'
            f'a{RADIUS} {RADIUS} 0 0 1 {RADIUS} -{RADIUS}"/>',
            *self.thing.draw(begin, y),
            *self.separator.draw(left, y + self.offset),
        ]


Thing = Box | Row | Choice | Repeated


def word(text: str) -> Box:
    """What is written as it is, in any case."""
    return Box(text, "word")


def part(name: str) -> Box:
    """What has a diagram or a bound of its own."""
    return Box(name, "part")


DIAGRAMS: dict[str, Thing] = {
    "policy (1 to 10 rules)": Repeated(part("rule"), word(";")),
    "rule": Row(
        Choice(None, part("algorithm")),
        part("amount"),
        Choice(word("/"), word("per")),
        Choice(None, part("number")),
        part("unit"),
        Choice(None, Row(word("capacity"), part("amount"))),
    ),
    "algorithm": Choice(
        word("fixed-window"),
        word("calendar-window"),
        word("sliding-window"),
        word("sliding-log"),
        word("token-bucket"),
    ),
    "unit": Choice(*(word(name) for name in ("ms", "second", "minute", "hour", "day", "week"))),
}


def picture() -> str:
    """The whole picture."""
    drawn: list[str] = []
    y, widest = 20, 0
    for name, thing in DIAGRAMS.items():
        drawn.append(f'<text class="title" x="24" y="{y + 14}">{name}</text>')
        line = y + LINE + thing.up
        drawn.append(f'<path d="M24 {line - 8}v16M24 {line}h20M{44 + thing.width} {line}h20m0 -8v16"/>')
        drawn += thing.draw(44, line)
        y = line + thing.down + 26
        widest = max(widest, thing.width + 88)
    words = ", ".join(DIAGRAMS)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest} {y}" width="{widest}" role="img"'
            ' aria-labelledby="title desc">',
            '<title id="title">The grammar of policies</title>',
            f'<desc id="desc">Railroad diagrams of: {words}.</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{widest - 1}" height="{y - 1}" rx="8"/>',
            *drawn,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture())
