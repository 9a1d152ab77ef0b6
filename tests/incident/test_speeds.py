"""Every figure of speed that a page quotes is in the data of the benchmarks: docs/data.

The tables of the README and of docs/speed.md are made of it (test_guide.py compares them), and so are the charts. Here
is what is written by hand.
"""

from __future__ import annotations

import re
from itertools import pairwise

import benchmark_charts
import pytest
import speeds
from needs import ROOT

IMAGES = ROOT / "docs/images"
BENCHMARKS = (ROOT / "docs/benchmarks.md").read_text()


def test_the_charts_are_what_make_figures_draws() -> None:
    drawn = dict(benchmark_charts.charts(speeds.DATA))
    assert {path.name: path.read_text() for path in IMAGES.glob("compare-*.svg")} == drawn, "run 'make figures'"
    assert set(re.findall(r"\(images/(compare-[\w-]+\.svg)\)", BENCHMARKS)) == drawn.keys()


def test_a_chart_is_sorted_and_leaves_out_what_decides_wrongly() -> None:
    for name, chart in benchmark_charts.charts(speeds.DATA):
        widths = [float(width) for width in re.findall(r'<rect class="(?:calls|peer)"[^>]* width="([\d.]+)"', chart)]
        assert len(widths) > 1, name
        # The first bar of each group has the full width.
        assert all(width in (widths[0], min(width, before)) for before, width in pairwise(widths)), name
    wrong = [
        row["library"]
        for question in speeds.DATA["questions"]
        for group in question["groups"]
        for row in group["rows"]
        if row.get("wrong")
    ]
    assert wrong == ["pyrate-limiter"]


@pytest.mark.parametrize("question", speeds.DATA["questions"], ids=lambda question: str(question["name"]))
def test_the_page_of_the_benchmarks_prints_the_data(question: dict[str, object]) -> None:
    (part,) = [part for part in BENCHMARKS.split("\n## ") if part.startswith(f"{question['title']}\n")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    printed = [(row[1], row[2].replace(",", "")) for row in cells[2:]]
    groups = question["groups"]
    assert isinstance(groups, list)
    rows = [row for group in groups for row in group["rows"]]
    assert [library for library, _ in printed] == [row["library"] for row in rows]
    assert [float(rate) for _, rate in printed] == [row["calls_per_second"] for row in rows]
    names = [row[0] for row in cells[2:] if row[0]]
    assert names == [group["name"] for group in groups]
    for ratio, row in zip((row[cells[0].index("times")] for row in cells[2:]), rows, strict=True):
        assert ratio.replace(",", "") == (f"{row['speed']:.2f}" if "speed" in row else "")


def test_the_conditions_are_those_of_the_run() -> None:
    for condition in speeds.DATA["conditions"]:
        assert f"* {condition}\n" in BENCHMARKS


def test_the_readme_shows_a_row_that_quotalock_loses() -> None:
    ratios = [speeds.figure(*row, "speed") for row in speeds.IN_README]
    assert len(ratios) == 3
    assert min(ratios) < 1 < max(ratios)


def test_the_denials_of_the_readme_are_those_of_the_benchmarks() -> None:
    ours = speeds.figure("hot-key", "PHP", speeds.OURS)
    theirs = speeds.figure("hot-key", "PHP", "phpredis, Lua")
    readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text())
    assert f"one PHP process denies {ours / 1e6:.1f} million times per second" in readme
    assert f"phpredis and a script deny {theirs:,.0f} times" in readme


def test_the_time_of_a_script_is_that_of_the_guide() -> None:
    text = (ROOT / "docs/guide/limiter-internals.md").read_text().split("## Server time per call")[1].split("\n## ")[0]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    ours = [float(row[column]) for row in rows for column in (2, 4)]
    bounds = f"{min(ours):.0f} to {max(ours):.0f} µs"
    for page in ("docs/speed.md", "docs/scaling.md"):
        assert bounds in (ROOT / page).read_text(), page


@pytest.mark.parametrize("row", speeds.FRAMEWORKS["others"], ids=lambda row: str(row["page"]))
def test_the_page_of_a_framework_quotes_the_data(row: dict[str, object]) -> None:
    text = (ROOT / f"docs/frameworks/{row['page']}.md").read_text()
    (quoted,) = re.findall(r"\*\*Speed\*\*(.*?)(?:\n\n|\Z)", text, re.DOTALL)
    for kind in ("allowed", "denied"):
        assert f"{row[kind]}x" in quoted, kind


def test_the_page_of_the_benchmarks_has_the_words_of_make_compare() -> None:
    sources = {name: (ROOT / f"bench/compare/{name}.py").read_text() for name in ("report", "questions")}
    (rules,) = re.findall(r'^RULES = """\n(.*?)^"""$', sources["report"], re.MULTILINE | re.DOTALL)
    assert rules in BENCHMARKS
    for question in speeds.DATA["questions"]:
        assert question["name"] == "requests" or f'"{question["title"]}"' in sources["questions"]
