"""PHP's extension from source, as PIE builds it: phpize reads config.m4, and make calls cargo."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from needs import ROOT

# In place of cargo: it prints what it was asked, and leaves a file where cargo would.
CARGO = """#!/bin/sh
echo "asked: PHP=$PHP PHP_CONFIG=$PHP_CONFIG cargo $*"
while [ $# -gt 0 ]; do
  [ "$1" != --target-dir ] || { mkdir -p "$2/release" && echo built >"$2/release/libratelimit.so"; }
  shift
done
"""


def run(folder: Path, *command: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    """Runs a command in the folder; its output has errors too."""
    env = {"PATH": path, "HOME": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder that composer.json names, with what phpize needs, after phpize."""
    folder = tmp_path / "source"
    folder.mkdir()
    named = ROOT / json.loads((ROOT / "composer.json").read_text())["php-ext"]["build-path"]
    for file in ("config.m4", "Makefile.frag", "Cargo.toml"):
        shutil.copy(named / file, folder)
    assert run(folder, "phpize").returncode == 0
    return folder


def test_make_builds_and_installs_what_cargo_made(source: Path, tmp_path: Path) -> None:
    cargo = tmp_path / "bin/cargo"
    cargo.parent.mkdir()
    cargo.write_text(CARGO)
    cargo.chmod(0o755)
    path = f"{cargo.parent}:{os.environ['PATH']}"
    assert run(source, "./configure", path=path).returncode == 0
    made = run(source, "make", "install", f"INSTALL_ROOT={tmp_path}/out", path=path)
    assert made.returncode == 0, made.stdout
    asked = (
        f"asked: PHP={shutil.which('php8.2')} PHP_CONFIG={shutil.which('php-config')} cargo build --release --locked"
    )
    assert asked in made.stdout
    (installed,) = (tmp_path / "out").rglob("ratelimit.so")
    assert installed.read_text() == "built\n"


def test_a_machine_without_cargo_is_told_what_to_install(source: Path) -> None:
    configured = run(source, "./configure", path="/usr/bin:/bin")
    assert configured.returncode != 0
    assert "cargo is missing: install Rust" in configured.stdout
