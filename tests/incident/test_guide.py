"""The guides: their picture and tables are what the repository makes, and their examples run."""

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

# What the guides' examples take for granted.
PHP = """<?php
$client = new Quotalock\\Client();
$clients = array_map(fn (int $n) => new Quotalock\\Client(prefix: "node$n"), [1, 2, 3]);
function callModel(int $maxTokens): object
{
    return (object) ['totalTokens' => $maxTokens - 1];
}
function pages(): array
{
    return [1, 2];
}
function ship(int $token): void
{
}
function write(int $page, int $token): void
{
}
function export(): void
{
}
function read(): void
{
}
function rebuild(): void
{
}
function transfer(): void
{
}
"""
PYTHON = """
import types
import quotalock
client = quotalock.Client()
clients = [quotalock.Client() for _ in range(3)]
def call_model(max_tokens):
    return types.SimpleNamespace(total_tokens=max_tokens - 1)
def pages():
    return [1, 2]
def work(*of):
    pass
ship = write = export = read = rebuild = transfer = work
"""
NODE = """
import { Client, quorumLock } from 'quotalock'
const client = new Client()
const clients = [new Client(), new Client(), new Client()]
const callModel = async ({ maxTokens }) => ({ totalTokens: maxTokens - 1 })
const pages = () => [1, 2]
const work = async () => {}
const [ship, write, doExport, read, rebuild, transfer] = [work, work, work, work, work, work]
"""
LANGUAGES = {
    "python": (PYTHON, "py", [sys.executable]),
    "php": (PHP, "php", ["php", "-d", f"extension={EXTENSION}"]),
    "js": (NODE, "mjs", ["node"]),
}
# How many each has, in each language.
GUIDES = {figures.GUIDE: 6, figures.GUIDE.parent / "locks.md": 5}
BLOCK = re.compile(r"^```(python|php|js)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [block for guide in GUIDES for block in BLOCK.findall(guide.read_text())]
PRINTED = {("python", 0): "19 99999\n", ("python", 2): "7\n"}


def test_the_picture_is_what_make_docs_draws() -> None:
    assert plot_algorithms.PICTURE.read_text() == plot_algorithms.picture(), "run 'make docs'"


@pytest.mark.parametrize("name", figures.blocks())
def test_the_tables_are_what_make_docs_measures(name: str) -> None:
    text = figures.GUIDE.read_text()
    assert figures.put(text, name, figures.blocks()[name]()) == text, "run 'make docs'"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_each_language_has_each_example(guide: Path) -> None:
    assert [language for language, _ in BLOCK.findall(guide.read_text())] == list(LANGUAGES) * GUIDES[guide]


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


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_what_the_guide_points_to_is_there(guide: Path) -> None:
    links = re.findall(r"]\(([^)#]+)\)", guide.read_text())
    assert len(links) > 1
    assert [link for link in links if not (guide.parent / link).exists()] == []


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=os.environ | {"QUOTALOCK_URL": "memory://"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
