"""`make figures`: draws what each algorithm admits of the same traffic, `docs/images/algorithms.svg`.

Nothing in it depends on the machine or the hour: `tests/incident/test_guide.py` compares the file with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from traffic import ALGORITHMS, LIMIT, PERIOD, ROOT, Admitted, offered, per_second, replay

sys.path.insert(0, str(ROOT / "examples" / "demo"))

import axes

PICTURE = ROOT / "docs" / "images" / "algorithms.svg"
WIDTH, LEFT, RIGHT = axes.WIDTH, axes.LEFT, axes.RIGHT
# A panel has its words above its bars; the marks of the seconds are below the last.
TOP, WORDS, BARS, GAP, BOTTOM = 74, 22, 70, 16, 48

STYLE = f"""{axes.STYLE}
  .offered {{ fill: #d8dee4 }}
  .admitted {{ fill: #0969da }}
  text.admitted {{ font-weight: 600 }}
  @media (prefers-color-scheme: dark) {{{axes.DARK}
    .offered {{ fill: #30363d }}
    .admitted {{ fill: #58a6ff }}
  }}
"""


def main() -> int:
    PICTURE.write_text(picture())
    return 0


def picture() -> str:
    """The whole picture."""
    load = per_second(offered())
    panels = [replay(algorithm) for algorithm in ALGORITHMS]
    height = TOP + len(panels) * (WORDS + BARS + GAP) - GAP + BOTTOM
    title = f"The same {sum(load)} requests of one client, by five algorithms of {LIMIT} per {PERIOD} s"
    told = "; ".join(f"{panel.algorithm} admits {panel.total}, {_most(panel)}" for panel in panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">{title}</title>',
        f'<desc id="desc">Of {sum(load)} requests in {len(load)} seconds {told}.</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(LEFT, 32, title, "title"),
        f'<rect class="offered" x="{LEFT}" y="45" width="12" height="12"/>',
        _text(LEFT + 18, 56, "offered in a second"),
        f'<rect class="admitted" x="{LEFT + 160}" y="45" width="12" height="12"/>',
        _text(LEFT + 178, 56, "admitted"),
    ]
    top = max(load)
    for number, panel in enumerate(panels):
        parts += _panel(TOP + number * (WORDS + BARS + GAP), panel, load, top)
    ground = height - BOTTOM
    for second in range(0, len(load) + 1, 5):
        parts.append(_text(_x(second, len(load)), ground + 18, str(second), anchor="middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, height - 12, "seconds since the first request", anchor="middle"))
    return "\n".join([*parts, "</svg>\n"])


def _panel(y: float, panel: Admitted, load: Sequence[int], top: int) -> list[str]:
    ground = y + WORDS + BARS
    scale = BARS / top
    parts = [
        _text(LEFT, y + 14, panel.algorithm, "label"),
        _text(WIDTH - RIGHT, y + 14, f"{panel.total} admitted, {_most(panel)}", "admitted", "end"),
    ]
    for value in (0, top):
        line = ground - value * scale
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{line:.1f}" y2="{line:.1f}"/>')
        parts.append(_text(LEFT - 10, line + 4.5, str(value), anchor="end"))
    for values, name in ((load, "offered"), (panel.per_second, "admitted")):
        bars = [
            f"M{_x(second + 0.08, len(load)):.1f} {ground:.1f}v{-value * scale:.1f}"
            f"H{_x(second + 0.92, len(load)):.1f}V{ground:.1f}z"
            for second, value in enumerate(values)
            if value > 0
        ]
        parts.append(f'<path class="{name}" d="{"".join(bars)}"/>')
    return parts


def _most(panel: Admitted) -> str:
    return f"at most {panel.most} in any {PERIOD} s"


def _x(second: float, seconds: int) -> float:
    return LEFT + second / seconds * (WIDTH - LEFT - RIGHT)


def _text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    sys.exit(main())
