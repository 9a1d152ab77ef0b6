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
LONGEST = 95
# A busy machine gets more time than the recipes give Redis.
PATIENT = {
    "python": ("quotalock.Client(", "quotalock.Client(timeout=10.0, "),
    "php": ("new Quotalock\\Client(", "new Quotalock\\Client(timeoutMs: 10_000, "),
    "js": ("new Client(process.env.QUOTALOCK_URL, {", "new Client(process.env.QUOTALOCK_URL, { timeoutMs: 10_000,"),
}


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in a language that run here."""
    written = [text for name, text in BLOCK.findall(PAGES[page]) if name == language]
    return [text for place, text in enumerate(written) if (page, place) not in recipes.OF_FRAMEWORKS]


def code(page: str, language: str) -> str:
    """The whole code of a page in a language."""
    return "".join(blocks(page, language))


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
    assert done.stdout == "".join(shown for language, shown in BLOCK.findall(PAGES[page]) if language == "text")


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_whole_and_short(page: str) -> None:
    text = PAGES[page]
    (examples,) = {len(blocks(page, language)) for language in PROGRAMS}
    # The site makes tabs of the languages where nothing is between their code.
    in_tabs = r"^```python\n(?:(?!```).*\n)+```\n```php\n(?:(?!```).*\n)+```\n```js\n"
    assert len(re.findall(in_tabs, text, re.MULTILINE)) >= examples > 0
    assert "\n## What goes wrong without it\n" in text
    assert "](../guide/" in text
    assert re.sub(r"^```(?:php|js)\n.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL).count("\n") <= LONGEST


def test_the_index_has_each_page_once() -> None:
    assert sorted(re.findall(r"\]\(([\w-]+)\.md\)", INDEX.read_text())) == sorted(PAGES)
