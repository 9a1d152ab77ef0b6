"""The recipes: each page's code runs as one program in each language, and prints what the page says."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator

import pytest
import recipes
from needs import ROOT
from servers import Server
from test_guide import PROGRAMS, run

HERE = ROOT / "docs/recipes"
INDEX = HERE / "README.md"
PAGES = {path.stem: path.read_text() for path in sorted(HERE.glob("*.md")) if path != INDEX}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# The lines of a page that a reader sees, with the code of one language: two minutes.
LONGEST = 90
# A busy machine gets more time than the recipes give Redis.
PATIENT = {
    "python": ("quotalock.Client(", "quotalock.Client(timeout=10.0, "),
    "php": ("new Quotalock\\Client(", "new Quotalock\\Client(timeoutMs: 10_000, "),
    "js": ("new Client(process.env.QUOTALOCK_URL, {", "new Client(process.env.QUOTALOCK_URL, { timeoutMs: 10_000,"),
}


def code(page: str, language: str) -> str:
    """The blocks of a page in a language that run here."""
    blocks = [text for name, text in BLOCK.findall(PAGES[page]) if name == language]
    return "".join(text for place, text in enumerate(blocks) if (page, place) not in recipes.OF_FRAMEWORKS)


def program(page: str, language: str) -> str:
    """The code of a page as a program, with the functions that are the reader's own."""
    before = "<?php\n" if language == "php" else ""
    text = code(page, language).replace("new Client()", "new Client(process.env.QUOTALOCK_URL, {})")
    made, patient = PATIENT[language]
    assert text.count(made) == 1
    return before + recipes.PRELUDES.get(page, {}).get(language, "") + text.replace(made, patient)


RUNS = [(page, language) for page in PAGES for language in PROGRAMS if code(page, language)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@pytest.mark.parametrize("store", ["memory", "server"])
@pytest.mark.parametrize(("page", "language"), RUNS, ids=[" ".join(names) for names in RUNS])
def test_it_prints_what_the_page_says(page: str, language: str, store: str, server: Server) -> None:
    ending, command = PROGRAMS[language]
    # Node looks for packages above the file.
    file = ROOT / "target" / f"recipe-{os.getpid()}.{ending}"
    file.write_text(program(page, language))
    try:
        while True:
            day = datetime.datetime.now(datetime.timezone.utc).date()
            server.command("FLUSHALL")
            done = run([*command, str(file)], "memory://" if store == "memory" else server.url)
            # A quota of a day that began during the run is another one.
            if day == datetime.datetime.now(datetime.timezone.utc).date():
                break
    finally:
        file.unlink()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == code(page, "text")


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_whole_and_short(page: str) -> None:
    text = PAGES[page]
    shown = [language for language, _ in BLOCK.findall(text) if language in PROGRAMS]
    examples = len(shown) // len(PROGRAMS)
    assert shown == [*PROGRAMS] * examples
    # The site makes tabs of the languages where nothing is between their code.
    assert len(re.findall(r"^```\n```(?:php|js)$", text, re.MULTILINE)) == 2 * examples
    assert "\n## What goes wrong without it\n" in text
    assert "](../guide/" in text
    assert re.sub(r"^```(?:php|js)\n.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL).count("\n") <= LONGEST


def test_the_index_has_each_page_once() -> None:
    assert sorted(re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text())) == sorted(PAGES)
