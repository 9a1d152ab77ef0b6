"""Counts wordings that are not plain technical English, in each file that people read.

`python3 tests/incident/language.py FILE ...` lists them with their lines (default: of all files). With `--renew` it
writes language.json, the counts that test_language.py allows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("language.json")
SOURCES = ("*.md", "api/surface.toml", "tools/api/templates/*")
# `tools/api` and `make compare` write these.
GENERATED = ("docs/reference/", "docs/reference.md", "docs/benchmarks.md")

END = r"(?= ?[.,;:)|*]|$| (?:and|or|but|by|before|until|when|if|at|in|on|for|to|that|which|with)\b)"
PLACE = "at|in|on|beside|below|above|next|there|outside|under|side|behind|together|apart"
COUNTED = "calls|requests|decisions|keys|loads|commands|times|grants|orders"
# A name for each wording, what to write instead, and how to find it in a paragraph without its code.
WORDINGS = {
    "anew": ("again, from zero", r"\banew\b"),
    "beside": ("next to, compared with, in addition to", r"\bbesides?\b"),
    "that cannot be": ("invalid", r"\bthat cannot be(?! \w+(?:ed|en|t|d|read)\b)"),
    "is no": ("is not a, is not one, invalid", r"(?<!there )\b(?:is|are|was|were) no(?:ne)?\b(?! (?:longer|more)\b)"),
    "tells of": ("reports, shows", r"\b(?:tells?|told|says?|said) of\b"),
    "tells": ("returns, reports, shows", r"\b(?:tells|told)\b"),
    "Who, What": ("a noun: the client, values that ...", r"(?:^|[.:;] |\*\*|= \"+)(?:who|what|whatever)\b(?=[^.?]*\.)"),
    "whoever": ("the client that, anyone who", r"\bwho(?:so)?ever\b"),
    "unless you set it": ("default: ...", r"\bunless you (?:set|say)\b"),
    "not looked at": ("ignored", r"\bnot looked at\b"),
    "stands, lies": ("is, are, goes", rf"\b(?:stands?|lies?|stood) (?:{PLACE})\b"),
    "also where": ("even if", r", also (?:where|if|when|after)\b"),
    "is over": ("ends, expires, has ended", rf"\b(?:is|are|was|were) over{END}"),
    "nobody": ("no process, another client, all callers", r"\b(?:some|no|every|any)body(?:'s)?\b"),
    "away": ("down, unreachable, removed", r"\b(?:is|are|was|be|goes|go|went|gone) away\b"),
    "in the place of": ("instead of", r"\bin (?:the|its|their) place\b"),
    "of its own": ("its own, a dedicated", rf"\bof (?:its|your|their|our|his) own{END}"),
    "but for": ("except for", r"\bbut for\b"),
    "a second": ("per second", rf"\b(?:{COUNTED}) an? (?:second|minute|hour|day)\b"),
    "to be had": ("available, acquired", r"\b(?:to|could|can) be had\b"),
    "mend": ("fix", r"\bmend(?:s|ed|ing)?\b"),
}
PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, (_, pattern) in WORDINGS.items()}
# The beginning of an item, a heading, a row or a value, which is not part of its first sentence.
BEGINNING = re.compile(r"^(?:\s*(?:[*+-]|\d+\.|#+|\|)\s+|\w+ = )")


def files() -> list[str]:
    """The files that are counted, by their paths in the checkout."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if not name.startswith(GENERATED)]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, items and rows in one line each, after the number of their first line; no code."""
    text = re.sub(
        r"^( *)```.*?^ *```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL
    )
    first, lines = 0, [""]
    for number, line in enumerate([*re.sub(r"`[^`\n]*`", "`", text).splitlines(), ""], 1):
        if line.strip() and lines[0] and not BEGINNING.match(line):
            lines.append(line.strip())
            continue
        if lines[0]:
            yield first, " ".join(lines)
        first, lines = number, [re.sub(r"^\s*(?:[*+-]|\d+\.|#+)\s+", "", line)]


def found(text: str) -> Iterator[tuple[str, int, str]]:
    """The wordings that a text has, each with the number of its paragraph's first line and the words around it."""
    for number, paragraph in paragraphs(text):
        for name, pattern in PATTERNS.items():
            for match in pattern.finditer(paragraph):
                yield name, number, paragraph[max(match.start() - 40, 0) : match.end() + 60]


def counts() -> dict[str, dict[str, int]]:
    """How often each file has each wording, for those that it has."""
    counted = {file: Counter(name for name, _, _ in found((ROOT / file).read_text())) for file in files()}
    return {file: dict(sorted(of_file.items())) for file, of_file in counted.items() if of_file}


def renew() -> None:
    """Writes the counts, each file in a line."""
    lines = (f"  {json.dumps(file)}: {json.dumps(of_file)}" for file, of_file in counts().items())
    ALLOWED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main(arguments: list[str]) -> None:
    """Lists what is found, or writes the counts."""
    if arguments == ["--renew"]:
        renew()
        return
    for file in arguments or files():
        for name, number, words in found((ROOT / file).read_text()):
            print(f"{file}:{number}: {name}: write {WORDINGS[name][0]}: ... {words}")


if __name__ == "__main__":
    main(sys.argv[1:])
