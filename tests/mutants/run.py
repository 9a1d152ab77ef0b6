"""Breaks the core on purpose, one fault at a time, and fails unless the tests of the core turn red for each.

Works on a copy of the tracked files, so that a stopped run leaves nothing broken. Run by `make test-mutants`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "target" / "mutants"


@dataclass(frozen=True)
class Mutant:
    """One fault: in `file`, `old` (which must be there) becomes `new`."""

    about: str
    file: str
    old: str
    new: str


LUA = "core/scripts"
RUST = "core/src"
MUTANTS = [
    Mutant(
        "the clamp of an impossible future is skipped",
        f"{LUA}/limit/fixed_window.lua",
        "stop_1, dirty = now + period_1, true",
        "dirty = true",
    ),
    Mutant(
        "the clamp is not written back",
        f"{LUA}/limit/fixed_window.lua",
        "now + period_1, true",
        "now + period_1, false",
    ),
    Mutant(
        "a window is closed at its end",
        f"{LUA}/limit/fixed_window.lua",
        "or stop_1 <= now then",
        "or stop_1 < now then",
    ),
    Mutant("one too many", f"{LUA}/limit/fixed_window.lua", "count_1 + cost > limit_1", "count_1 + cost > limit_1 + 1"),
    Mutant(
        "a calendar window from the future blocks",
        f"{LUA}/limit/calendar_window.lua",
        "  start_1 = current\n",
        "",
    ),
    Mutant(
        "one rule is charged although another denies",
        f"{LUA}/limit/consume.lua",
        "if wait_1 ~= 0 then admitted = false end",
        "if wait_1 ~= 0 and N_1 == 1 then admitted = false end",
    ),
    Mutant(
        "a window's weight is rounded down",
        f"{LUA}/limit/sliding_window.lua",
        "elseif previous_1 - share(gone, previous_1, period_1) > room then",
        "elseif share(period_1 - gone, previous_1, period_1) > room then",
    ),
    Mutant(
        "a bucket forgets fractions",
        f"{LUA}/limit/token_bucket.lua",
        "part_1, whole_1 = part_1 % limit_1",
        "part_1, whole_1 = 0",
    ),
    Mutant(
        "a bucket is full for ever after the clock went back",
        f"{LUA}/limit/token_bucket.lua",
        "tat_1, part_1, dirty = now + full_1, full_part_1, true",
        "dirty = true",
    ),
    Mutant("the TTL is not rewritten", f"{LUA}/limit/finish.lua", ", 'PX', ttl)", ")"),
    Mutant("a peek writes", f"{LUA}/limit/consume.lua", "not look and", "true and"),
    Mutant(
        "a foreign value is taken for ours",
        f"{LUA}/limit/place.lua",
        "foreign = string.sub(value, 1, 3) ~= 'QL\\1'",
        "foreign = false",
    ),
    Mutant(
        "the deadline is ignored",
        f"{LUA}/clock.lua",
        "if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then",
        "if false then",
    ),
    Mutant(
        "a block from the future is kept",
        f"{LUA}/limit/load.lua",
        "block_until, dirty = now + block_length, true",
        "dirty = true",
    ),
    Mutant(
        "the twin refunds below zero",
        f"{RUST}/algorithm/fixed_window.rs",
        "saturating_sub(amount)",
        "wrapping_sub(amount)",
    ),
    Mutant(
        "braces in a key are not encoded",
        f"{RUST}/key.rs",
        'b"%7B"',
        'b"{"',
    ),
    Mutant(
        "the binding rule is the one with the shortest wait",
        f"{RUST}/decision.rs",
        "if wait(b) > wait(a)",
        "if wait(b) < wait(a)",
    ),
    Mutant(
        "a child uses its parent's sockets",
        f"{RUST}/fork.rs",
        "GENERATION.fetch_add(1, Ordering::Relaxed);",
        "GENERATION.fetch_add(0, Ordering::Relaxed);",
    ),
    Mutant(
        "bytes behind a reply stay for the next call",
        f"{RUST}/store/redis/pool.rs",
        "if wire.reader.is_empty()",
        "if true",
    ),
    Mutant(
        "bytes that nobody asked for are no reason to give a connection up",
        f"{RUST}/store/redis/stream.rs",
        "_ => true,",
        "_ => false,",
    ),
    Mutant(
        "a full server's connections are given up for those it refused",
        f"{RUST}/store/redis/pool.rs",
        "!idle.connections.is_empty()",
        "false",
    ),
    Mutant(
        "a link takes more than the server",
        f"{RUST}/store/redis/up.rs",
        "self.out.len() - self.written >= MOST_UNSENT",
        "false",
    ),
]


def copy_tree() -> None:
    """Copies what git tracks, and keeps the copy's own target folder for the next run."""
    for old in COPY.iterdir() if COPY.exists() else ():
        if old.is_dir() and old.name != "target":
            shutil.rmtree(old)
    files = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in files:
        source, target = ROOT / name, COPY / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            # With new times: cargo must not take what an earlier, stopped run built for this.
            shutil.copyfile(source, target)


def test() -> bool:
    """Runs the core's tests in the copy; true if they pass."""
    command = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--"]
    command += ["cargo", "test", "--quiet", "-p", "quotalock", "-p", "quotalock-tests", "--lib", "--tests"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(COPY / "target")}
    done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True, timeout=900, check=False)
    return done.returncode == 0


def main() -> int:
    """Runs every mutant; the plain copy must pass first."""
    copy_tree()
    if not test():
        print("the tests fail without any mutant: mend that first")
        return 1
    survived = 0
    for mutant in MUTANTS:
        path = COPY / mutant.file
        text = path.read_text()
        if mutant.old not in text:
            print(f"STALE     {mutant.about}: {mutant.file} has no {mutant.old!r}")
            survived += 1
            continue
        path.write_text(text.replace(mutant.old, mutant.new, 1))
        try:
            alive = test()
        finally:
            path.write_text(text)
        survived += alive
        print(f"{'SURVIVED ' if alive else 'caught   '} {mutant.about}", flush=True)
    print(f"{len(MUTANTS) - survived} passed, {survived} failed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
