"""The recipes: each page's code runs as one program in each language, and prints what the page says."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import recipes
from needs import ROOT
from servers import Server
from test_guide import PROGRAMS, run

HERE = ROOT / "docs/recipes"
INDEX = HERE / "README.md"
PAGES = {path.stem: path.read_text() for path in sorted(HERE.glob("*.md")) if path != INDEX}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
LONGEST = 130


def code(page: str, language: str) -> str:
    """All blocks of a page in a language."""
    return "".join(text for name, text in BLOCK.findall(PAGES[page]) if name == language)


def program(page: str, language: str) -> str:
    """The code of a page as a program, with the functions that are the reader's own."""
    before = recipes.PRELUDES.get(page, {}).get(language, "")
    return ("<?php\n" if language == "php" else "") + before + code(page, language)


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
    assert shown == [*PROGRAMS] * (len(shown) // len(PROGRAMS))
    # Between code and code of the next language there is nothing, so that the site makes tabs of them.
    assert len(re.findall(r"^```python\n(?:(?!^```).*\n)*```\n```php\n(?:(?!^```).*\n)*```\n```js\n", text, re.MULTILINE)) == (
        len(shown) // len(PROGRAMS)
    )
    assert "\n## What goes wrong without it\n" in text
    assert "](../guide/" in text
    assert text.count("\n") <= LONGEST


def test_the_index_has_each_page() -> None:
    assert re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text()) == list(
        dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text()))
    )
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text())) == PAGES.keys()
