"""The guides: their picture and tables are what the repository makes, and their examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import figures
import guides
import layout
import plot_algorithms
import pytest
import railroad
from needs import EXTENSION, ROOT

PROGRAMS = {
    "python": ("py", [sys.executable]),
    "php": ("php", ["php", "-d", f"extension={EXTENSION}"]),
    "js": ("mjs", ["node"]),
}
GUIDES = {name: figures.HERE / f"{name}.md" for name in guides.COUNTS}
BLOCK = re.compile(r"^```(python|php|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (name, number // len(PROGRAMS), language, code)
    for name, guide in GUIDES.items()
    for number, (language, code) in enumerate(BLOCK.findall(guide.read_text()))
]


def test_the_picture_is_what_make_figures_draws() -> None:
    assert plot_algorithms.PICTURE.read_text() == plot_algorithms.picture(), "run 'make figures'"


def test_the_grammar_is_what_make_figures_draws() -> None:
    assert railroad.PICTURE.read_text() == railroad.picture(), "run 'make figures'"


def test_the_page_of_policies_has_every_unit_and_algorithm() -> None:
    page = (ROOT / "docs/policies.md").read_text()
    source = (ROOT / "core/src/limiter/policy/grammar.rs").read_text()
    units = re.findall(r'\("(\w+)", [\d_]+, &\[(.+?)\]\)', source)
    assert len(units) == 6
    for name, others in units:
        spellings = ", ".join(f"`{word}`" for word in [name, *re.findall(r"\w+", others)])
        assert f"| {spellings} |" in page
    drawn = railroad.picture()
    algorithms = re.findall(
        r'name: "([a-z-]+)"', "".join(path.read_text() for path in (ROOT / "core/src/limiter/algorithm").glob("*.rs"))
    )
    assert len(algorithms) > 4
    assert all(f">{name}</text>" in drawn for name in [*algorithms, *(name for name, _ in units)])


@pytest.mark.parametrize("name", figures.BLOCKS)
def test_the_tables_are_what_make_figures_measures(name: str) -> None:
    guide, block = figures.BLOCKS[name]
    text = guide.read_text()
    assert layout.put(text, name, block()) == text, "run 'make figures'"


def test_each_guide_is_here() -> None:
    assert sorted(path.stem for path in figures.HERE.glob("*.md")) == sorted(GUIDES)


@pytest.mark.parametrize("name", GUIDES)
def test_each_language_has_each_example(name: str) -> None:
    blocks = BLOCK.findall(GUIDES[name].read_text())
    assert [language for language, _ in blocks] == list(PROGRAMS) * guides.COUNTS[name]


@pytest.mark.parametrize(
    ("guide", "number", "language", "code"),
    EXAMPLES,
    ids=[f"{name} {number} {language}" for name, number, language, _ in EXAMPLES],
)
def test_it_runs(guide: str, number: int, language: str, code: str) -> None:
    ending, program = PROGRAMS[language]
    # Node looks for packages above the file.
    file = ROOT / "target" / f"guide-{os.getpid()}.{ending}"
    file.write_text(guides.CLIENT[language] + guides.PRELUDES[guide][language] + code)
    try:
        done = run([*program, str(file)])
    finally:
        file.unlink()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == guides.printed(guide, number, language)


def anchors(text: str) -> set[str]:
    """Where a link may lead within a guide: its headings, as they are turned into anchors."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def run(command: list[str], url: str = "memory://") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=os.environ | {"QUOTALOCK_URL": url},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
