"""Counts wordings that are no plain technical English, in each file that people read.

`python3 tests/incident/language.py` lists them with their lines, for the files given or for all; with `--renew` it writes
language.json, the counts that test_language.py allows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("language.json")
# What is written by `tools/api` and `make compare` is counted where it is written from, and what the licence says not at all.
GENERATED = ("docs/reference/", "docs/reference.md", "docs/benchmarks.md")
SOURCES = ("*.md", "api/surface.toml", "tools/api/templates/*")

# The name of each pattern is the wording to use instead.
PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "again, from zero (not anew)": r"\banew\b",
        "next to, compared with, in addition to (not beside)": r"\bbesides?\b",
        "invalid (not that cannot be)": r"\bthat cannot be(?! \w+(?:ed|en|t|d|read)\b)",
        "is not a (not is no, is none)": r"(?<!there )\b(?:is|are|was|were) no(?:ne)?\b(?! (?:longer|more)\b)",
        "reports, shows (not tells of)": r"\b(?:tells?|told|says?|said) of\b",
        "returns, reports, shows (tell is for people)": r"\b(?:tells|told)\b",
        "a named subject (not Who, What ...)": r"""(?:^|[.:;|] |\*\*|= "+)(?:who|what|whatever)\b(?=[^.|?]*(?:[.|]|$))""",
        "a named subject (not whoever)": r"\bwho(?:so)?ever\b",
        "default: (not unless you set it)": r"\bunless (?:you|one) (?:set|sets|say|says|give|gives)\b",
        "ignored (not not looked at)": r"\bnot looked at\b",
        "is, are (not stands, lies)": (
            r"\b(?:stands?|lies?|stood) (?:at|in|on|beside|below|above|next|there|outside|under|side|behind|together|apart)\b"
        ),
        "even if (not also where)": r", also (?:where|if|when|after)\b",
        "ends, expires, has ended (not is over)": r"\b(?:is|are|was|were) over(?= ?[.,;:)|]|$| (?:and|or|by|before|when|if)\b)",
        "no process, another client (not somebody)": r"\b(?:some|no|every|any)body(?:'s)?\b",
        "down, unreachable, removed (not away)": r"\b(?:is|are|was|be|goes|go|went|gone) away\b",
        "instead of (not in the place of)": r"\bin (?:the|its|their) place\b",
        "its own (not of its own)": r"\bof (?:its|your|their|our|his) own\b",
        "except for (not but for)": r"\bbut for\b",
        "per second (not a second)": r"\b(?:calls|requests|decisions|keys|loads|commands|times|grants|orders) an? (?:second|minute|hour|day)\b",
        "not available (not to be had)": r"\b(?:to|could|can) be had\b",
        "fix (not mend)": r"\bmend(?:s|ed|ing)?\b",
    }.items()
}


def files() -> list[str]:
    """The files that are looked at, by their paths in the checkout."""
    listed = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if not name.startswith(GENERATED)]


# What a line begins with that continues no line before it, and is no part of its first sentence.
BEGINNING = re.compile(r"^(?:\s*(?:[*+-]|\d+\.|#+|\|)\s+|\w+ = )")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs, items and rows in one line each, after the number of their first line; no code."""
    text = re.sub(r"^( *)```.*?^ *```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    first, lines = 0, [""]
    for number, line in enumerate([*re.sub(r"`[^`\n]*`", "`", text).splitlines(), ""], 1):
        if line.strip() and lines[0] and not BEGINNING.match(line):
            lines.append(line.strip())
            continue
        if lines[0]:
            yield first, " ".join(lines)
        first, lines = number, [re.sub(r"^\s*(?:[*+-]|\d+\.|#+)\s+", "", line)]


def found(text: str) -> Iterator[tuple[str, int, str]]:
    """The patterns that a text has, each with the number of its paragraph's first line and the words around it."""
    for number, paragraph in paragraphs(text):
        for pattern, wording in PATTERNS.items():
            for match in wording.finditer(paragraph):
                yield pattern, number, paragraph[max(match.start() - 40, 0) : match.end() + 60]


def counts() -> dict[str, dict[str, int]]:
    """How often each file has each pattern, for those that it has."""
    counted: dict[str, dict[str, int]] = {}
    for name in files():
        of_file: dict[str, int] = defaultdict(int)
        for pattern, _, _ in found((ROOT / name).read_text()):
            of_file[pattern] += 1
        if of_file:
            counted[name] = dict(sorted(of_file.items()))
    return counted


def main(arguments: list[str]) -> None:
    """Lists what is found, or writes the counts."""
    if arguments == ["--renew"]:
        ALLOWED.write_text(json.dumps(counts(), indent=1) + "\n")
        return
    for name in arguments or files():
        for pattern, number, words in found((ROOT / name).read_text()):
            print(f"{name}:{number}: {pattern}: {words}")


if __name__ == "__main__":
    main(sys.argv[1:])
