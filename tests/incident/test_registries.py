"""Quotalock is in no registry yet: no page, message or comment has a command that would install another's package."""

from __future__ import annotations

import re
import subprocess

import pytest
from needs import ROOT

# Lock files name what others publish.
FILES = [
    name
    for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if re.search(r"\.(md|php|pyi?|m?[jt]s|rs|toml|ya?ml|json|sh|txt)$", name)
    and name != "tests/incident/test_registries.py"
    and "lock.json" not in name
]
INSTALLERS = re.compile(
    r"\b(?:(?:pip3?|pipx|uv|poetry|pdm|conda|npm|yarn|pnpm|bun|deno|composer|pie|pecl|cargo|brew|apt|apt-get|gem)\s"
    r"(?:[^\n`]*?\s)??(?:install|i|add|require|global|run|exec|dlx|x|create)|npx|uvx|bunx)\s([^\n`|;&]*)"
)
# By name, with a version, an extra or a vendor; not as a file or a folder, and no other package of the workspace.
OURS = re.compile(
    r"@?quotalock(?:[@=~<>\[:][^/\s]*|/(?:ratelimit|laravel|psr|support|symfony|wordpress)\S*|-cli)?|npm:quotalock\S*"
)


def commands(text: str) -> list[str]:
    """The commands in a text that would take a package of our name from a registry."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [
        found[0]
        for found in INSTALLERS.finditer(joined)
        if any(OURS.fullmatch(word.strip("'\"(),.:")) for word in found[1].split())
    ]


@pytest.mark.parametrize(
    "command",
    [
        "pip install quotalock",
        "python -m pip install -U 'quotalock[flask]'",
        "pip install \\\n  quotalock==0.1.0",
        "uv pip install quotalock",
        "uv add quotalock",
        "uvx quotalock doctor",
        "npm install quotalock",
        "npm i --save quotalock@0.1.0",
        "npx quotalock doctor",
        "pnpm add quotalock",
        "deno add npm:quotalock",
        "composer require quotalock/laravel",
        "pie install quotalock/ratelimit",
        "cargo install quotalock-cli",
        "cargo add quotalock",
    ],
)
def test_such_a_command_is_seen(command: str) -> None:
    assert commands(f"Run `{command}` first") or commands(command)


@pytest.mark.parametrize(
    "command",
    [
        "pip install dist/quotalock-*.whl flask",
        "npm install dist/quotalock-0.1.0.tgz",
        "npm install --prefix bindings-node",
        "composer update 'quotalock/*'",
        "cargo build --release -p quotalock-cli",
    ],
)
def test_what_installs_our_own_files_is_not(command: str) -> None:
    assert commands(command) == []


def test_no_file_names_a_package_that_is_not_ours_yet() -> None:
    assert len(FILES) > 1000
    found = {name: commands((ROOT / name).read_text(errors="replace")) for name in FILES}
    assert {name: those for name, those in found.items() if those} == {}
