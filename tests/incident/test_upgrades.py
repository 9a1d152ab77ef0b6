"""The page on upgrades lists each stored format with the version that the sources write."""

from __future__ import annotations

import re

from needs import ROOT

PAGE = (ROOT / "docs/upgrades.md").read_text()
CORE = sorted((ROOT / "core/src").rglob("*.rs"))


def test_the_page_lists_each_format_with_its_version() -> None:
    written = {
        (letters, int(version, 16))
        for path in CORE
        for letters, version in re.findall(r'MAGIC: &\[u8\] = b"(Q[A-Z])\\x([0-9a-f]{2})"', path.read_text())
    }
    # Only scripts write what is remembered of a stock's requests.
    recall = (ROOT / "core/src/stock/recall.lua").read_text()
    written |= {(letters, int(version)) for letters, version in re.findall(r"'(QT)\\(\d)'", recall)}
    listed = {(letters, int(version)) for letters, version in re.findall(r"\| `(Q[A-Z])` (\d+) \|", PAGE)}
    assert listed == written


def test_the_page_names_each_kind_of_key() -> None:
    words = re.findall(r'^ {8}\("(\w+)", KeyKind::\w+\),$', (ROOT / "core/src/key.rs").read_text(), re.MULTILINE)
    assert len(words) == 8
    assert set(words) | {"reports"} == set(re.findall(r"\| `ql:(\w+)", PAGE))


def test_the_page_has_the_versions_of_reports_and_of_handed_over_locks() -> None:
    (reports,) = re.findall(r'VERSION: &str = "(\w+)"', (ROOT / "core/src/reports/entry.rs").read_text())
    (text,) = re.findall(r'VERSION: &str = "([\w-]+)"', (ROOT / "core/src/lock/passed.rs").read_text())
    assert f"| `v` {reports} in each entry |" in PAGE
    assert f"begins with `{text}`" in PAGE
