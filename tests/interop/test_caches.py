"""What one language loads is what the others get, or are told."""

from __future__ import annotations

import json
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import measure
import pytest
from crew import NOBODY, Crew, done, held_up
from workers import LANGUAGES

KEY = "żółw {42} 🐢"
VALUES = [b"", "żółw/Ω/🐢".encode(), bytes(range(256)), b"0", b"\r\n\x00", bytes(range(251)) * 800, None]
DOCUMENTS = [
    {"name": "żółw 🐢 \u2028 </script>", "control": '\x00\x1f\x7f\\"/', "": "no name"},
    [2**53 - 1, -(2**53 - 1), 2**31, 0, -1],
    [0.1, -2.5, 1e300, 5e-324, 1e-7, 123456789.123456789],
    {"a": {"b": [{"c": [[1, [2, [3]]]]}]}, "empty": [[], "", [[]]], "nothing": [None, True, False]},
    {"empty": {}, "list": [{}, []]},
    [],
    {},
    "text",
    "",
    0,
    False,
    None,
]
# Who is not woken asks again a second after it asked last.
WOKEN_WITHIN_MS = 700


def hexed(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


@pytest.mark.parametrize("way", ["put", "load"])
def test_a_value_is_the_same_for_all(crew: Crew, way: str) -> None:
    for number, value in enumerate(VALUES):
        for language, worker in crew.items():
            name = f"{language} {number}"
            if way == "put":
                done(worker, "cache.put", name, key=KEY, value=value)
            else:
                loaded = worker.call("cache.get", name, key=KEY, load={"value": value})
                assert (loaded["result"], loaded["loads"]) == (hexed(value), 1)
            assert crew.all_find("cache.get", name, key=KEY, load=NOBODY) == hexed(value), language
            for other in crew.values():
                seen = done(other, "cache.peek", name, key=KEY)
                assert (seen["value"], seen["stale"]) == (hexed(value), False)


def test_a_document_is_the_same_for_all(crew: Crew) -> None:
    # Rust leaves JSON to its caller.
    languages = {language: crew[language] for language in LANGUAGES}
    for number, document in enumerate(DOCUMENTS):
        stored = {}
        for language, worker in languages.items():
            name = f"{language} {number}"
            load = {"json": json.dumps(document)}
            loaded = worker.call("cache.get_json", name, key=KEY, load=load)
            assert (json.loads(loaded["result"]), loaded["loads"]) == (as_found_by(language, document), 1)
            for other in languages:
                found = done(languages[other], "cache.get_json", name, key=KEY, load=NOBODY)
                assert json.loads(found) == as_found_by(other, document), (language, other)
            stored[language] = crew.all_find("cache.get", name, key=KEY, load=NOBODY)
        assert all(value is None or json.loads(bytes.fromhex(value)) == document for value in stored.values())


# What some language could store and another could not read, and what all of them can.
TOO_DEEP, DEEP = (json.loads("[" * depth + "]" * depth) for depth in (513, 512))
HALF = json.loads('{"name": "\\ud83d"}')


@pytest.mark.parametrize("document", [TOO_DEEP, HALF], ids=["too deep", "half of a pair"])
def test_a_document_that_not_all_can_read_is_stored_by_none(crew: Crew, document: object) -> None:
    # PHP's own json_encode makes neither.
    for language in (name for name in LANGUAGES if name != "php"):
        worker = crew[language]
        loaded = worker.call(
            "cache.get_json", language, {"error_ttl_ms": 0}, key=KEY, load={"json": json.dumps(document)}
        )
        assert "error" in loaded, language
        assert done(worker, "cache.peek", language, key=KEY) is None


def test_a_deep_document_is_the_same_for_all(crew: Crew) -> None:
    for language in LANGUAGES:
        loaded = crew[language].call("cache.get_json", language, key=KEY, load={"json": json.dumps(DEEP)})
        assert json.loads(loaded["result"]) == DEEP
        for other in LANGUAGES:
            assert json.loads(done(crew[other], "cache.get_json", language, key=KEY, load=NOBODY)) == DEEP


def as_found_by(language: str, document: Any) -> Any:
    """A document as a language has it: an object is an array to PHP, which does not tell an empty one from a list."""
    if language != "php":
        return document
    if isinstance(document, list):
        return [as_found_by(language, each) for each in document]
    if isinstance(document, dict):
        return {name: as_found_by(language, each) for name, each in document.items()} or []
    return document


@pytest.mark.parametrize("op", ["cache.get", "once.run"])
def test_who_waits_is_woken_by_who_loads(crew: Crew, op: str, tmp_path: Path) -> None:
    for loader, worker in crew.items():
        value = b"\xff by " + loader.encode()
        others = [crew[other] for other in crew if other != loader]
        with measure.Stalls() as stalls:
            with held_up(tmp_path / loader) as until:
                worker.begin_call(op, "home", key=loader, load={"value": value, **until})
                crew.begun("home", loader)
                for other in others:
                    other.begin_call(op, "home", key=loader, load=NOBODY)
                crew.awaited("home", loader)
                freed = time.monotonic_ns()
            loaded, waited = worker.end(), [other.end() for other in others]
        assert (loaded["result"], loaded["loads"]) == (value.hex(), 1)
        for answer in waited:
            assert (answer["result"], answer["loads"]) == (value.hex(), 0)
            assert 0 < (answer["ok_ns"] - freed) / 1e6 < WOKEN_WITHIN_MS + stalls.worst_ms


@pytest.mark.parametrize("op", ["cache.get", "once.run"])
def test_the_error_of_a_loader_is_told_to_the_others(crew: Crew, op: str, tmp_path: Path) -> None:
    options = {"error_ttl_ms": 60_000}
    for loader, worker in crew.items():
        text = f"no ł\n{loader}"
        others = [crew[other] for other in crew if other != loader]
        with held_up(tmp_path / loader) as until:
            worker.begin_call(op, "home", options, key=loader, load={"fails": text, **until})
            crew.begun("home", loader)
            for other in others:
                other.begin_call(op, "home", options, key=loader, load=NOBODY)
            crew.awaited("home", loader)
        failed = worker.end()
        assert (failed["error"], failed["message"], failed["loads"]) == ("own", text, 1)
        told = [other.end() for other in others]
        told += [worker.call(op, "home", options, key=loader, load=NOBODY) for worker in crew.values()]
        assert {(each["error"], each["loads"]) for each in told} == {("load_failed", 0)}
        # They differ in when it is tried again.
        (message,) = {each["message"].split("): try again in ")[0] for each in told}
        assert message.endswith(text)


def test_what_one_invalidates_the_others_load_anew(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        x, y, name = crew[one], crew[other], f"{one} {other}"
        done(x, "cache.put", name, key=KEY, value=b"old")
        assert done(y, "cache.invalidate", name, key=KEY) is True
        assert done(x, "cache.invalidate", name, key=KEY) is False
        assert crew.all_find("cache.peek", name, key=KEY) is None
        assert x.call("cache.get", name, key=KEY, load={"value": b"new"})["loads"] == 1
        assert crew.all_find("cache.get", name, key=KEY, load=NOBODY) == b"new".hex()


@pytest.mark.parametrize("op", ["put", "invalidate"])
def test_what_one_was_loading_meanwhile_is_not_stored(crew: Crew, op: str, tmp_path: Path) -> None:
    languages = list(crew)
    for one, other in zip(languages, languages[1:] + languages[:1], strict=True):
        with held_up(tmp_path / one) as until:
            crew[one].begin_call("cache.get", "home", key=one, load={"value": b"late", **until})
            crew.begun("home", one)
            value: dict[str, Any] = {"value": b"newer"} if op == "put" else {}
            done(crew[other], f"cache.{op}", "home", key=one, **value)
        late = crew[one].end()
        assert (late["result"], late["loads"]) == (b"late".hex(), 1)
        if op == "put":
            assert crew.all_find("cache.get", "home", key=one, load=NOBODY) == b"newer".hex()
        else:
            assert crew.all_find("cache.peek", "home", key=one) is None


def test_who_finds_a_stale_value_has_it_while_another_loads(crew: Crew, tmp_path: Path) -> None:
    options = {"fresh_ms": 1, "stale_ms": 60_000}
    languages = list(crew)
    for one, other in zip(languages, languages[1:] + languages[:1], strict=True):
        done(crew[one], "cache.put", "home", options, key=one, value=b"old")
        old = crew.begun("home", one)
        # It is fresh for a millisecond, in which a quick worker may ask.
        time.sleep(0.002)
        with held_up(tmp_path / one) as until:
            crew[other].begin_call("cache.get", "home", options, key=one, load={"value": b"new", **until})
            crew.begun("home", one, old)
            for third in crew:
                if third != other:
                    assert done(crew[third], "cache.get", "home", options, key=one, load=NOBODY) == b"old".hex()
        assert crew[other].end()["loads"] == 1
        assert done(crew[one], "cache.peek", "home", options, key=one)["value"] == b"new".hex()
