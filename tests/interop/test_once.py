"""Whoever is first in one language is first for all."""

from __future__ import annotations

import contextlib
import time
from itertools import permutations
from pathlib import Path

from crew import NOBODY, Crew, done, held_up
from workers import Worker

ID = b"\x00\xff order {1} \xc5\x82"
LEASE_MS = 800


def test_who_claims_first_is_first_for_all(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        x, y, name = crew[one], crew[other], f"{one} {other}"
        for value in (b"\xff by x", b"", None):
            first = done(x, "once.claim", name, key=ID, value=value)
            shown = None if value is None else value.hex()
            assert (first["first"], first["value"], first["running"]) == (True, shown, False)
            for worker in crew.values():
                second = done(worker, "once.claim", name, key=ID, value=b"mine")
                assert (second["first"], second["value"], second["running"]) == (False, shown, False)
            assert done(y, "once.release", name, key=ID) is True
        assert done(y, "once.claim", name, key=ID, value=b"mine")["first"] is True


def test_what_one_has_run_is_the_result_of_all(crew: Crew) -> None:
    for language, worker in crew.items():
        for number, value in enumerate((b"\x00\xff", b"", None)):
            name, shown = f"{language} {number}", None if value is None else value.hex()
            ran = worker.call("once.run", name, key=ID, load={"value": value})
            assert (ran["result"], ran["loads"]) == (shown, 1)
            assert crew.all_find("once.run", name, key=ID, load=NOBODY) == shown
            for other in crew.values():
                claimed = done(other, "once.claim", name, key=ID, value=b"mine")
                assert (claimed["first"], claimed["value"]) == (False, shown)


def test_nobody_is_first_while_another_runs(crew: Crew, tmp_path: Path) -> None:
    for one, worker in crew.items():
        with held_up(tmp_path / one) as until:
            worker.begin_call("once.run", "orders", key=one, load={"value": b"result", **until})
            crew.begun("orders", one)
            for other in crew:
                if other != one:
                    claimed = done(crew[other], "once.claim", "orders", key=one, value=b"mine")
                    assert (claimed["first"], claimed["value"], claimed["running"]) == (False, None, True)
        assert worker.end()["result"] == b"result".hex()


def test_whose_runner_is_killed_goes_on_after_its_lease(crew: Crew, tmp_path: Path) -> None:
    for_ever = tmp_path / "never there"
    options, languages = {"lease_ms": LEASE_MS}, list(crew)
    for step in range(1, len(languages)):
        pairs = list(zip(languages, languages[step:] + languages[:step], strict=True))
        with contextlib.ExitStack() as stack:
            runners = {language: Worker(language) for language in languages}
            for runner in runners.values():
                stack.callback(runner.kill)
                crew.join(runner)
            began = time.monotonic_ns()
            for language, runner in runners.items():
                load = {"value": b"", "until": for_ever}
                runner.begin_call("once.run", f"step {step}", options, key=language, load=load)
            for language in runners:
                crew.begun(f"step {step}", language)
        for killed, other in pairs:
            crew[other].begin_call("once.run", f"step {step}", options, key=killed, load={"value": other.encode()})
        answers = [crew[other].end() for _, other in pairs]
        for (killed, other), answer in zip(pairs, answers, strict=True):
            assert (answer["result"], answer["loads"]) == (other.encode().hex(), 1)
            # The lease was given after that.
            assert answer["ok_ns"] > began + LEASE_MS * 1_000_000, (killed, other)
            assert crew.all_find("once.run", f"step {step}", key=killed, load=NOBODY) == other.encode().hex()
