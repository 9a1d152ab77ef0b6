"""The guide: its picture and tables are what the repository makes, and its examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import figures
import plot_algorithms
import pytest
from needs import EXTENSION, ROOT

# What the guide's examples take for granted.
PHP = """<?php
$client = new Quotalock\\Client();
function callModel(int $maxTokens): object
{
    return (object) ['totalTokens' => $maxTokens - 1];
}
"""
PYTHON = """
import types
import quotalock
client = quotalock.Client()
def call_model(max_tokens):
    return types.SimpleNamespace(total_tokens=max_tokens - 1)
"""
NODE = """
import { Client } from 'quotalock'
const client = new Client()
const callModel = async ({ maxTokens }) => ({ totalTokens: maxTokens - 1 })
"""
LANGUAGES = {
    "python": (PYTHON, "py", [sys.executable]),
    "php": (PHP, "php", ["php", "-d", f"extension={EXTENSION}"]),
    "js": (NODE, "mjs", ["node"]),
}
EXAMPLES = re.findall(r"^```(\w+)\n(.*?)^```$", figures.GUIDE.read_text(), re.MULTILINE | re.DOTALL)
PRINTED = {("python", 0): "19 99999\n", ("python", 2): "7\n"}


def test_the_picture_is_what_make_docs_draws() -> None:
    assert plot_algorithms.PICTURE.read_text() == plot_algorithms.picture(), "run 'make docs'"


@pytest.mark.parametrize("name", figures.blocks())
def test_the_tables_are_what_make_docs_measures(name: str) -> None:
    text = figures.GUIDE.read_text()
    assert figures.put(text, name, figures.blocks()[name]()) == text, "run 'make docs'"


def test_each_language_has_each_example() -> None:
    assert len(EXAMPLES) == 3 * 6
    assert [language for language, _ in EXAMPLES] == list(LANGUAGES) * 6


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_it_runs(number: int) -> None:
    language, code = EXAMPLES[number]
    prelude, ending, program = LANGUAGES[language]
    # Node looks for packages above the file.
    file = ROOT / "target" / f"guide-{os.getpid()}.{ending}"
    file.write_text(prelude + code)
    try:
        done = run([*program, str(file)])
    finally:
        file.unlink()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PRINTED.get((language, number // 3), "")


def test_what_the_guide_points_to_is_there() -> None:
    links = re.findall(r"]\(([^)#]+)\)", figures.GUIDE.read_text())
    assert len(links) > 1
    assert [link for link in links if not (Path(figures.GUIDE).parent / link).exists()] == []


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=os.environ | {"QUOTALOCK_URL": "memory://"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
