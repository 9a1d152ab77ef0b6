"""Wordings that are not plain technical English only become fewer: language.json has how many each file may have."""

from __future__ import annotations

import json

import language
import pytest

COMMAND = "python3 tests/incident/language.py"


def test_no_file_has_more_or_fewer_than_its_counts() -> None:
    allowed = json.loads(language.ALLOWED.read_text())
    counted = language.counts()
    wrong = []
    for file in sorted(allowed.keys() | counted.keys()):
        for name, (instead, _) in language.WORDINGS.items():
            before, now = (counts.get(file, {}).get(name, 0) for counts in (allowed, counted))
            if now > before:
                wrong.append(
                    f"{file}: {name}: {now} in place of {before}: write {instead} ({COMMAND} {file} has the lines)"
                )
            elif now < before:
                wrong.append(f"{file}: {name}: {now}, fewer than {before}: lower the count with {COMMAND} --renew")
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("The limit starts\nanew.", "anew"),
        ("* Keys lie beside limits.", "beside"),
        ("A policy that cannot be is an error.", "that cannot be"),
        ("That is no error.", "is no"),
        ("One scrape tells of all workers.", "tells of"),
        ("It waits. What returns stays\nin the sale.", "What"),
        ("It is taken by whoever comes first.", "whoever"),
        ("It is 500 ms unless you set it.", "unless you set"),
        ("`trust proxy` is not looked at.", "not looked at"),
        ("The list stands below.", "stands below"),
        ("It is sent, also where nothing waits.", ", also where"),
        ("It waits until the lease is over.", "is over"),
        ("| it is free | nobody waits |", "nobody"),
        ("When Redis is away, calls fail.", "is away"),
        ("VIEW in the place of the other.", "in the place"),
        ("Give it a database of its own.", "of its own"),
        ("It makes 40 calls a second.", "calls a second"),
    ],
)
def test_a_wording_is_found(text: str, wording: str) -> None:
    assert any(wording in words for _, _, words in language.found(text)), text


@pytest.mark.parametrize(
    "text",
    [
        "What is a lease? A lock that ends.",
        "There is no server. It is no longer held.",
        "The value that cannot be read is over 1 KiB.",
        "Name the address of your own proxy.",
        "`unless you set it`",
        "```\nnobody is away\n```",
    ],
)
def test_plain_english_is_left_alone(text: str) -> None:
    assert list(language.found(text)) == []
