"""Has cargo-mutants change the Rust code of core and wire for some minutes.

Compares the mutants that survive with `survivors.toml`. `rust.py SEED MINUTES [FILE ...]` tests a shard: as many
mutants as fit in the time. Another seed takes another shard; with as many seeds in a row as there are shards, each
mutant has been tested once. With files it tests all of their mutants.

A mutant is built with the unit tests of its own crate. Those that survive these are built again with the unit tests of
the core and the vectors in memory, and those that survive this with the random tests that compare the Rust code with
the scripts, on a Redis.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/mutants/rust"
CARGO = [str(ROOT / "target/tools/bin/cargo-mutants"), "mutants", "--colors=never", "-p=quotalock", "-p=quotalock-wire"]
# How many mutants two cores build and test in a minute.
PER_MINUTE = 5
OWN = ["--cargo-arg=--lib"]
# cargo-mutants would build the baseline from other packages, so `passes` tests them instead.
WITHOUT = ["--baseline=skip", "--timeout=300"]
VECTORS = ["--cargo-arg=--lib", "--cargo-arg=--test=vectors", "--test-package=quotalock,quotalock-tests", *WITHOUT]
TWINS = ["--cargo-arg=--test=all", "--test-package=quotalock-tests", *WITHOUT]
COMPARING = ["--", "--", "twin", "oracle::", "changes::", "bounds::"]
WITH_A_SERVER = [sys.executable, str(ROOT / "tests/harness/with_servers.py"), "--only", "redis-7.0", "--"]
# Passed on to the tests: without those that need a server, or seconds.
SKIPPED = ("every_vector_on_every_server", "every_vector_as_a_user", "a_million_keys", "in_a_crowd", "into_every_slot")
TESTS = ["--", "--", *(f"--skip={test}" for test in SKIPPED)]
ENVIRONMENT = {**os.environ, "RUST_BACKTRACE": "0"}
# A copy of cargo-mutants has its own: cargo takes what another copy built for its own.
PLAIN = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(FOLDER / "build")}
# Ended, or ended with survivors, or with mutants that hung.
JUDGED = (0, 2, 3)
# A baseline that fails.
UNFIT = 4


@dataclass(frozen=True)
class Mutation:
    """A change at any place of a function that has it."""

    file: str
    function: str
    mutation: str

    def __str__(self) -> str:
        return f"{self.file}: {self.mutation} in {self.function}"


def mutation(mutant: dict[str, Any]) -> Mutation:
    """What a mutant of cargo-mutants changes, without the line, which moves."""
    function = (mutant["function"] or {}).get("function_name", "")
    change = re.sub(r"^\S+:\d+:\d+: ", "", mutant["name"])
    return Mutation(mutant["file"], function, change.removesuffix(f" in {function}"))


def listed(*options: str) -> list[dict[str, Any]]:
    """The mutants that there are."""
    found = subprocess.check_output([*CARGO, "--list", "--json", *options], cwd=ROOT)
    return list(json.loads(found))


def tested(
    folder: Path, until: float, options: list[str], around: Sequence[str]
) -> list[tuple[dict[str, Any], bool]] | None:
    """Tests mutants until a time: each of those that build, and whether it survived.

    None if the tests fail without any.
    """
    folder.mkdir(parents=True, exist_ok=True)
    bound = ["timeout", "--signal=INT", "--kill-after=60", str(max(1, round(until - time.monotonic())))]
    command = [*around, *bound, *CARGO, f"--output={folder}", "--no-times", *options]
    code = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=False).returncode
    if code == UNFIT:
        return None
    outcomes = json.loads((folder / "mutants.out/outcomes.json").read_text())["outcomes"]
    judged = [(outcome["scenario"], outcome["summary"]) for outcome in outcomes if outcome["scenario"] != "Baseline"]
    if code not in JUDGED:
        print(f"the time is over after {len(judged)} mutants", flush=True)
    return [(of["Mutant"], how == "MissedMutant") for of, how in judged if how != "Unviable"]


def only(mutants: list[dict[str, Any]]) -> list[str]:
    """The options that choose these mutants."""
    names = [f"--re=^{re.escape(mutant['name'])}$" for mutant in mutants]
    # A mutant that deletes a field passes every --re.
    return names + sorted({f"--file={mutant['file']}" for mutant in mutants})


def passes() -> bool:
    """Whether the tests of the second part pass without a mutant."""
    tests = ["--package=quotalock", "--package=quotalock-tests", "--lib", "--test=vectors", *TESTS[1:]]
    command = ["cargo", "test", "--quiet", "--profile=mutants", *tests]
    return subprocess.run(command, cwd=ROOT, env=PLAIN, check=False).returncode == 0


def survivors() -> set[Mutation]:
    """What `survivors.toml` lists."""
    entries = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text()).get("survivor", [])
    return {Mutation(entry["file"], entry["function"], entry["mutation"]) for entry in entries}


def main(seed: int, minutes: float, files: list[str]) -> int:
    """Tests a shard or files; fails for a survivor that is not listed, and for a listed one that is gone."""
    began = time.monotonic()
    every = listed()
    shards = ceil(len(every) / (minutes * PER_MINUTE))
    chosen = [f"--file={file}" for file in files] or [f"--shard={seed % shards}/{shards}", "--sharding=round-robin"]
    print(f"{len(listed(*chosen))} of {len(every)} mutants: {' '.join(chosen)}", flush=True)
    end = began + minutes * 60
    # The other parts test the few that survive the first.
    first = tested(FOLDER / "own", began + minutes * 60 * (1 if files else 0.7), [*chosen, *OWN, *TESTS], [])
    left = [mutant for mutant, survived in first or [] if survived]
    if first is None or (left and not passes()):
        print("the tests fail without any mutant: mend that first")
        return 1
    second = tested(FOLDER / "vectors", end, [*only(left), *VECTORS, *TESTS], []) or [] if left else []
    survived = {mutant["name"]: survived for mutant, survived in second}
    left = [mutant for mutant, lives in second if lives and mutation(mutant) not in survivors()]
    third = tested(FOLDER / "twins", end, [*only(left), *TWINS, *COMPARING], WITH_A_SERVER) or [] if left else []
    survived.update({mutant["name"]: lives for mutant, lives in third})
    untested = {mutant["name"] for mutant in left} - {mutant["name"] for mutant, _ in third}
    survived = {name: lives for name, lives in survived.items() if name not in untested}
    # The time may end before the second part does.
    ends = [(mutation(mutant), survived.get(mutant["name"])) for mutant, lives in first if lives]
    fates = [(mutation(mutant), False) for mutant, lives in first if not lives]
    fates += [(of, lives) for of, lives in ends if lives is not None]
    alive, known = {of for of, lives in fates if lives}, survivors()
    there, seen = Counter(map(mutation, every)), Counter(of for of, _ in fates)
    new = sorted(alive - known, key=str)
    gone = sorted((of for of in known - alive if there[of] == 0 or seen[of] == there[of]), key=str)
    for of in new:
        print(f"SURVIVED  {of}: add a unit test, or list it with its reason in tests/mutants/survivors.toml")
    for of in gone:
        print(f"GONE      {of}: it survives no more, so survivors.toml must not list it")
    took, survivor_count = (time.monotonic() - began) / 60, sum(lives for _, lives in fates)
    print(
        f"{len(fates)} mutants in {took:.0f} minutes: {len(fates) - survivor_count} caught, {survivor_count} survived,"
        f" {len(new)} kinds of them new; {len(first) - len(fates)} not tested to the end"
    )
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
