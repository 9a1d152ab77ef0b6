"""The charts of the benchmarks: one for each question and language, from the data that `make compare` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800, 270, 190, 62, 20
ROW, BAR, GAP, NOTE = 20, 13, 30, 18
OURS = "Quotalock"
# A card with its own ground: an image on a page knows the reader's system, but not the page's own colours.
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
  .name { fill: #1f2328 }
  .value { font-size: 12px }
  .ours { font-weight: 600 }
  .calls { fill: #0969da }
  .peer { fill: #8c959f }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d }
    text { fill: #9198a1 }
    .title, .name { fill: #f0f6fc }
    .calls { fill: #58a6ff }
  }
"""
# The language of a group whose name does not begin with it.
LANGUAGES = {"php-fpm": "PHP", "FastAPI": "Python", "Fastify": "Node"}
SLUGS = {"PHP": "php", "Python": "python", "asyncio": "asyncio", "Node": "node", "Rust": "rust"}


def language(group: str) -> str:
    """The language that a group is about."""
    first = group.partition(",")[0]
    first = LANGUAGES.get(first, first)
    # The groups of the question about the server are all of Node.
    return first if first in SLUGS else "Node"


def charts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name of each chart's file, and the chart."""
    for question in data["questions"]:
        for name in languages(question):
            groups = [group for group in question["groups"] if language(group["name"]) == name]
            yield f"compare-{question['name']}-{SLUGS[name]}.svg", _chart(f"{question['title']}: {name}", groups)


def languages(question: Mapping[str, Any]) -> list[str]:
    """The languages of a question, in the order of its groups."""
    return list(dict.fromkeys(language(group["name"]) for group in question["groups"]))


def _chart(title: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Draws the groups of one language, each sorted and with its own scale, from 0 to its fastest."""
    kept = [(group["name"], *_sorted(group["rows"])) for group in groups]
    rows = sum(len(rows) for _, rows, _ in kept)
    notes = sum(bool(wrong) for *_, wrong in kept)
    height = TOP + GAP * len(groups) + ROW * rows + NOTE * notes + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(_described(kept))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(24, 34, title, "title"),
        _text(24, 52, "calls per second (longer is better), CPU time of the client per call (less is better)", "value"),
    ]
    y = TOP
    for name, rows_of_group, wrong in kept:
        lines.append(_text(24, y + 20, name, "name"))
        y += GAP
        most = rows_of_group[0]["calls_per_second"]
        for row in rows_of_group:
            lines += _bar(y, row, row["calls_per_second"] / most * (WIDTH - LEFT - RIGHT))
            y += ROW
        if wrong:
            lines.append(_text(LEFT, y + 10, f"Left out, because it admits too few or too many: {', '.join(wrong)}"))
            y += NOTE
    return "\n".join([*lines, "</svg>\n"])


def _sorted(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The rows that decide rightly, the fastest first, and the names of the others."""
    right = sorted((row for row in rows if not row.get("wrong")), key=lambda row: -row["calls_per_second"])
    return right, [row["library"] for row in rows if row.get("wrong")]


def _bar(y: float, row: Mapping[str, Any], width: float) -> list[str]:
    ours = row["library"].startswith(OURS)
    value = f"{row['calls_per_second']:,.0f}/s" + (f", {row['client_us']:,.4g} µs" if "client_us" in row else "")
    width = max(1.0, width)
    return [
        _text(LEFT - 8, y + BAR - 2, row["library"], "ours name" if ours else "", "end"),
        f'<rect class="{"calls" if ours else "peer"}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="1.5"/>',
        _text(LEFT + width + 6, y + BAR - 2, value, "value"),
    ]


def _described(groups: Sequence[tuple[str, Sequence[Mapping[str, Any]], Sequence[str]]]) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"{row['library']} {row['calls_per_second']:,.0f}" for row in rows)
        for name, rows, _ in groups
    )


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
