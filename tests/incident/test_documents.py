"""Every document: its blocks of code run, its commands exist, and what it points to is there.

The examples of the guides are run by test_guide.py, with what they print, and the recipes by test_recipes.py.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import figures
import pytest
import quotalock
import readmes
import tomllib
from needs import ROOT
from servers import Server
from test_guide import PROGRAMS, anchors, run

DOCUMENTS = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
]
# Their blocks are parts of applications: those of PHP must parse, and what they show is tested in tests/frameworks.
FRAMEWORKS = ROOT / "docs/frameworks"
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
BLOCKS = [
    (document, number, language, re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
    for document in DOCUMENTS
    if document.parent != FRAMEWORKS
    for number, (indent, language, code) in enumerate(BLOCK.findall(document.read_text()))
]
RUN_ELSEWHERE = {figures.HERE, ROOT / "docs/recipes"}
RUN_HERE = [
    block for block in BLOCKS if block[0].parent not in RUN_ELSEWHERE and block[2] not in readmes.CHECKED_OTHERWISE
]
OF_PHP = [
    (document, code)
    for document in DOCUMENTS
    if document.parent == FRAMEWORKS
    for _, language, code in BLOCK.findall(document.read_text())
    if language == "php"
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


def name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def test_each_block_is_in_a_language_that_is_checked() -> None:
    checked = [document for document in DOCUMENTS if document.parent != FRAMEWORKS]
    fences = sum(len(re.findall(r"^ *```", document.read_text(), re.MULTILINE)) for document in checked)
    assert fences == 2 * len(BLOCKS)
    assert {language for _, _, language, _ in BLOCKS} == {*readmes.LANGUAGES, *readmes.CHECKED_OTHERWISE}
    # Each package shows all that it has in its own language, the others show it in all of them.
    in_all = {
        "README.md",
        *(f"docs/{page}.md" for page in ("answering-429", "migrating-locks", "quick-start", "testing")),
    }
    shown = {name(document) for document, *_ in RUN_HERE}
    assert shown == in_all | {f"bindings-{language}/README.md" for language in ("node", "php", "python")}
    for document in in_all:
        assert {block[2] for block in RUN_HERE if name(block[0]) == document} == set(readmes.LANGUAGES), document


@pytest.mark.parametrize(
    ("document", "number", "language", "code"), RUN_HERE, ids=[f"{name(block[0])} {block[1]}" for block in RUN_HERE]
)
@pytest.mark.parametrize("store", ["memory", "server"])
def test_it_runs(document: Path, number: int, language: str, code: str, store: str, server: Server) -> None:
    ending, command = PROGRAMS[language]
    url = "memory://" if store == "memory" else server.url
    # They would share their limits.
    server.command("FLUSHALL")
    # Node looks for packages above the file.
    file = ROOT / "target" / f"document-{os.getpid()}.{ending}"
    file.write_text(readmes.program(language, code, url))
    try:
        done = run([*command, str(file)], url)
    finally:
        file.unlink()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(readmes.printed(code), done.stdout)


@pytest.mark.parametrize(("document", "code"), OF_PHP, ids=[name(document) for document, _ in OF_PHP])
def test_what_a_page_on_a_framework_shows_parses(document: Path, code: str) -> None:
    # A method is shown without its class.
    whole = re.sub(r"^public function", "function", code, flags=re.MULTILINE)
    done = subprocess.run(["php", "-l"], input=f"<?php {whole}", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("number", range(2))
def test_a_late_write_changes_no_row(number: int) -> None:
    (code, *rest) = [code for _, _, language, code in BLOCKS if language == "sql"][number:]
    assert len(rest) == 1 - number
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE stock (id INTEGER, price INTEGER)")
    if number:
        database.execute("ALTER TABLE stock ADD COLUMN fence BIGINT NOT NULL DEFAULT 0")
    database.execute("INSERT INTO stock (id, price) VALUES (1, 10)")
    statements = [text.strip() for text in re.sub(r"--.*", "", code).split(";") if text.strip()]

    def write(token: int, price: int) -> list[int]:
        updates = [text for text in statements if not text.startswith("ALTER") or token == 7]
        values = {"id": 1, "price": price, "token": token}
        counts = [database.execute(text, values).rowcount for text in updates]
        return [count for text, count in zip(updates, counts, strict=True) if text.startswith("UPDATE")]

    assert set(write(7, 20)) == {1}
    assert set(write(6, 30)) == {0}
    assert database.execute("SELECT price, fence FROM stock").fetchall() == [(20, 7)]


MAKEFILE = (ROOT / "Makefile").read_text()
# The variable that picks a part of a target: `make test SUITE=php` makes test-php.
PICKS = {
    "build": "PART",
    "lint": "PART",
    "test": "SUITE",
    "test-long": "SUITE",
    "bench": "ONLY",
    "figures": "ONLY",
    "soak": "ONLY",
}


def unknown(words: list[str]) -> set[str]:
    """What a `make` command asks for in vain: targets that `make help` does not list, variables that nothing reads."""
    documented = set(re.findall(r"^([a-z-]+):.* ## ", MAKEFILE, re.MULTILINE))
    made = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    targets = {word for word in words if "=" not in word}
    picked = {f"{target}-{settings[PICKS[target]]}" for target in targets if PICKS.get(target) in settings}
    read = set(re.findall(r"\$\(([A-Z_]+)\)", MAKEFILE))
    return (targets - documented) | (picked - made) | (settings.keys() - read)


def test_each_command_is_one(server: Server) -> None:
    for document in DOCUMENTS:
        for command in re.findall(r"`make ([^`]+)`", document.read_text()):
            assert unknown(shlex.split(command)) == set(), name(document)
    for document, _, _, code in (block for block in BLOCKS if not block[2]):
        # A line that is set in goes on with the one before.
        for line in code.replace("\n  ", " ").splitlines():
            written = line.split(" # ")[0]
            words = written.split()
            if words[0] == "make":
                assert unknown(shlex.split(written)[1:]) == set(), name(document)
            else:
                assert server.command(*words) == "OK", name(document)


def test_a_command_that_is_none_is_seen() -> None:
    assert unknown(["test", "SUITE=php", "ONLY=LocksTest"]) == set()
    assert unknown(["test-php", "SUITE=php"]) == {"test-php"}
    assert unknown(["bench", "ONLY=nothing", "NONE=1"]) == {"bench-nothing", "NONE"}


def test_each_code_has_its_part_and_each_message_is_one() -> None:
    source = (ROOT / "wire/src/base/error.rs").read_text()
    codes = re.findall(r'Code::\w+ => "(\w+)"', source)
    assert len(codes) == int(re.findall(r"ALL: \[Code; (\d+)\]", source)[0])
    text = (ROOT / "docs/troubleshooting.md").read_text()
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    # Two parts are about what has no code.
    assert parts[:-4:2] == codes
    # A message goes on in the next line of its source.
    sources = [path for crate in ("wire", "core") for path in sorted((ROOT / crate / "src").rglob("*.rs"))]
    written = "".join(path.read_text() for path in sources)
    written = re.sub(r"\\\n\s*", "", written).replace('\\"', '"')
    cells = [cell for part in parts[1:-4:2] for cell in re.findall(r"^\| `(.+?)` \|", part, re.MULTILINE)]
    assert len(cells) > 30
    said = {fragment.strip() for cell in cells for fragment in cell.split("...")}
    assert {fragment for fragment in said if fragment not in written} == set()


def test_each_code_is_in_the_table_of_errors() -> None:
    codes = re.findall(r'Code::\w+ => "(\w+)"', (ROOT / "wire/src/base/error.rs").read_text())
    table = (ROOT / "docs/errors.md").read_text()
    assert re.findall(r"^\| \[`(\w+)`\]", table, re.MULTILINE) == codes


def test_each_setting_of_php_and_variable_of_the_environment_is_described() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    settings = set(re.findall(r'c"(ratelimit\.\w+)"', (ROOT / "bindings-php/src/ini.rs").read_text()))
    assert settings == set(re.findall(r"^\| `(ratelimit\.\w+)`", page, re.MULTILINE))
    sources = [path for crate in ("wire", "core", "cli") for path in sorted((ROOT / crate / "src").rglob("*.rs"))]
    read = {name for path in sources for name in re.findall(r'"(QUOTALOCK_[A-Z_]+)"', path.read_text())}
    of_developers = {"QUOTALOCK_RENEW", "QUOTALOCK_MANUAL"}
    assert read - of_developers == set(re.findall(r"^\| `(QUOTALOCK_\w+)`", page, re.MULTILINE))


def test_the_headers_are_those_of_a_decision() -> None:
    page = (ROOT / "docs/http-headers.md").read_text()
    limiter = quotalock.Client("memory://").limiter("checkout", "10/minute;100/hour")
    decision = [limiter.consume("user:42") for _ in range(11)][-1]
    for name, value in decision.headers().items():
        assert f"| `{name}` | `{value}` |" in page
    problem: Mapping[str, object] = decision.problem()
    for name in ("type", "title", "detail"):
        assert f"| `{name}` | `{problem[name]}` |" in page
    assert set(problem) == set(re.findall(r"^\| `([a-z-]+)` \|", page.split("## Body")[1], re.MULTILINE))


@pytest.mark.parametrize("package", ["core", "bindings-*", "bindings-php/packages/*"])
def test_a_readme_points_to_nothing_outside_of_its_package(package: str) -> None:
    # It goes into the archive, and docs/ does not.
    for readme in ROOT.glob(f"{package}/README.md"):
        outside = re.findall(r"\]\((\.\.[^)]*)\)", readme.read_text())
        assert not outside, f"{readme.relative_to(ROOT)} points to {outside}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_what_it_points_to_is_there(document: Path) -> None:
    for link, anchor in re.findall(r"]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)", document.read_text()):
        target = document.parent / link if link else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text()), link + anchor


def places(text: str) -> list[str]:
    """The paths that a pattern such as `core/src/{lock,cache}/*.rs` stands for, with its stars."""
    before, brace, behind = text.partition("{")
    if not brace:
        return [text]
    choices, _, after = behind.partition("}")
    return [path for choice in choices.split(",") for path in places(before + choice + after)]


def test_each_place_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (`.+`.*?) \| ?([\d, ]*) ?\|$", text, re.MULTILINE)
    assert len(rows) > 90
    for question, where, decisions in rows:
        for place in (place for pattern in re.findall(r"`([\w./*{},-]+)`", where) for place in places(pattern)):
            found = [path for below in ("", "core/src/", "wire/src/") for path in ROOT.glob(below + place)]
            assert found, (question, place)
        for number in re.findall(r"\d+", decisions):
            assert any(ROOT.glob(f"docs/adr/{int(number):04}-*.md")), (question, number)


def test_each_dependency_has_its_reason() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([^`\n]+)`", text[text.index("## Dependencies of the core") :]))
    for manifest in (*ROOT.glob("*/Cargo.toml"), ROOT / "tests/rust/Cargo.toml"):
        made_of = tomllib.loads(manifest.read_text())
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            missing = made_of.get(kind, {}).keys() - named - {"quotalock", "wire"}
            assert missing == set(), manifest.relative_to(ROOT)
