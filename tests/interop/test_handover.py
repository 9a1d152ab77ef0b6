"""A lock that is handed over goes on in any language: one at a time holds it, under one token, until its deadline."""

from __future__ import annotations

import json
import os
import time
from itertools import permutations
from typing import Any

import pytest
from crew import Crew, done
from workers import Answer, Worker

TTL_MS = 60_000
LOOK = {"look": ["held", "token", "remaining"]}
KINDS: dict[str, Answer] = {
    "lock": {},
    "lock_all": {},
    "semaphore": {"permits": 3, "weight": 2},
    "read_lock": {},
    "write_lock": {},
}


def options(**more: Any) -> Answer:
    """Of a lock that nobody renews."""
    return {"ttl_ms": TTL_MS, "renew": False, "fair": False, **more}


def looked(worker: Worker, op: str, name: object, given: Answer | None = None, **arguments: Any) -> Answer:
    """A call that must succeed, with what its handle shows afterwards."""
    answer = worker.call(op, name, given or options(), how=LOOK, **arguments)
    assert "error" not in answer, answer
    return answer


def handed_over(worker: Worker, name: object, given: Answer | None = None, kind: str = "lock") -> tuple[int, str]:
    """The token of a lock that is acquired, and its text."""
    acquired = looked(worker, f"{kind}.acquire", name, given, wait_ms=0)
    assert acquired["result"] is True
    given_away = looked(worker, f"{kind}.handover", name, given)
    assert given_away["seen"]["held"] is False
    return acquired["seen"]["token"], given_away["result"]


def adopted(worker: Worker, name: object, text: str, given: Answer | None = None, kind: str = "lock") -> Answer:
    """What the handle of whoever adopts it shows."""
    seen: Answer = looked(worker, f"{kind}.adopt", name, given, text=text, renew=False)["seen"]
    return seen


def refused(worker: Worker, text: str) -> str:
    """With which code an adoption is refused."""
    answer = worker.call("lock.adopt", "refused", options(), text=text)
    assert "error" in answer, answer
    code: str = answer["error"]
    return code


def test_it_goes_from_each_language_to_each_other(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        name = f"{one} {other}"
        token, text = handed_over(crew[one], name)
        seen = adopted(crew[other], name, text)
        assert (seen["held"], seen["token"]) == (True, token)
        assert done(crew[one], "lock.release", name, options()) is False
        for worker in crew.values():
            assert refused(worker, text) == "lost", name
            # Of a name of its own: a handle acquires once.
            assert done(worker, "lock.acquire", name, options(ttl_ms=TTL_MS - 1), wait_ms=0) is False
        assert done(crew[other], "lock.release", name, options()) is True
        again = looked(crew[one], "lock.acquire", name, wait_ms=0)
        assert (again["result"], again["seen"]["token"] > token) == (True, True)


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_round_and_back(crew: Crew, kind: str) -> None:
    goes_round(crew, kind, ["a", "b"] if kind == "lock_all" else "round")


@pytest.mark.parametrize("name", ["cluster-7.0", "cluster-9.1"])
def test_it_goes_round_in_a_cluster(workers: dict[str, Worker], name: str) -> None:
    crew = Crew(workers, json.loads(os.environ["QUOTALOCK_TEST_CLUSTERS"])[name])
    # In slots of several servers.
    for number in range(8):
        goes_round(crew, "lock", f"round {number}")


def goes_round(crew: Crew, kind: str, name: object) -> None:
    """From each language to the next, and all the way back."""
    given = options(**KINDS[kind])
    way = [*crew.values(), *reversed(list(crew.values()))]
    token, text = handed_over(way[0], name, given, kind)
    for worker in way[1:]:
        seen = adopted(worker, name, text, given, kind)
        assert (seen["held"], seen["token"]) == (True, token)
        text = looked(worker, f"{kind}.handover", name, given)["result"]
    adopted(way[0], name, text, given, kind)
    assert refused(way[1], text) == "lost"
    assert looked(way[0], f"{kind}.release", name, given)["result"] is True


def test_of_all_who_adopt_at_once_one_gets_it(crew: Crew) -> None:
    for number, worker in enumerate(list(crew.values()) * 2):
        token, text = handed_over(worker, f"race {number}")
        at = {"at_ns": time.monotonic_ns() + 5_000_000, **LOOK}
        for other in crew.values():
            other.begin_call("lock.adopt", f"race {number}", options(), how=at, text=text, renew=False)
        answers = [other.end() for other in crew.values()]
        (winner,) = [answer for answer in answers if "error" not in answer]
        assert winner["seen"]["token"] == token
        assert [answer["error"] for answer in answers if "error" in answer] == ["lost"] * (len(crew) - 1)


def test_the_deadline_of_whoever_adopts_is_true(crew: Crew) -> None:
    ttl_ms, pairs = 8000, list(permutations(crew, 2))
    short = options(ttl_ms=ttl_ms)
    began = time.monotonic_ns()
    texts = {pair: handed_over(crew[pair[0]], " ".join(pair), short)[1] for pair in pairs}
    # Well after all of them were granted, and before the first of them is over.
    later = {"at_ns": began + ttl_ms * 500_000, **LOOK}
    deadlines = {}
    for pair, text in texts.items():
        answer = crew[pair[1]].call("lock.adopt", " ".join(pair), short, how=later, text=text, renew=False)
        if answer.get("error") == "lost" and answer["ok_ns"] > began + ttl_ms * 1_000_000:
            # The machine stood still meanwhile.
            continue
        assert "error" not in answer, answer
        deadlines[pair] = answer["seen"]["at_ns"] + answer["seen"]["remaining_ms"] * 1e6
        # The whole ttl from its call on, less what a handle leaves, and not what was left of the giver's. A worker may
        # be held up between its two looks.
        certain = ttl_ms * 0.99 - 2
        assert answer["invoke_ns"] + (certain - 300) * 1e6 <= deadlines[pair] <= answer["ok_ns"] + certain * 1e6
    assert deadlines
    for lane, pair in enumerate(deadlines, start=1):
        crew["python"].begin_call("lock.acquire", " ".join(pair), short, lane=lane, wait_ms=30_000)
    for lane, pair in enumerate(deadlines, start=1):
        answer = crew["python"].end(lane)
        assert answer["result"] is True
        assert answer["ok_ns"] >= deadlines[pair], pair


def test_what_is_lost_is_not_adopted(crew: Crew) -> None:
    # All at once: it takes a while until they are over.
    over = {language: f"over {language}" for language in crew}
    texts = {
        language: handed_over(worker, over[language], options(ttl_ms=4000))[1] for language, worker in crew.items()
    }
    for number, (language, worker) in enumerate(crew.items()):
        text, taken = texts[language], f"taken {number}"
        # Whoever has it now was granted it since.
        assert done(crew["python"], "lock.acquire", over[language], options(), wait_ms=20_000) is True
        _, other = handed_over(worker, taken)
        assert done(crew["python"], "lock.force_release", taken, options(ttl_ms=TTL_MS - 1)) == 1
        for adopter in crew.values():
            assert [refused(adopter, text), refused(adopter, other)] == ["lost", "lost"], language
        assert worker.call("lock.handover", taken, options())["error"] == "lost"


def test_another_server_has_nothing_to_adopt(crew: Crew) -> None:
    servers = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])
    elsewhere = servers["redis-6.2"]
    texts = [handed_over(worker, language) for language, worker in crew.items()]
    for worker in crew.values():
        worker.client(elsewhere, prefix=crew.prefix)
        assert {refused(worker, text) for _, text in texts} == {"lost"}
        crew.join(worker)
    # That they were asked for elsewhere does them no harm.
    for worker, (token, text) in zip(crew.values(), texts, strict=True):
        assert adopted(worker, "here", text)["token"] == token


def test_what_is_no_text_is_an_argument_that_cannot_be(crew: Crew) -> None:
    _, text = handed_over(crew["rust"], "text")
    wrong = ["", "sku:42", text[:-1], text[:10] + text[11:], text.replace("ql1-", "ql2-")]
    for worker in crew.values():
        assert [refused(worker, each) for each in wrong] == ["invalid_argument"] * len(wrong)
        worker.client(crew.url, prefix=f"{crew.prefix}x")
        assert refused(worker, text) == "invalid_argument"
        crew.join(worker)


@pytest.mark.parametrize("end", ["kill", "close"])
def test_it_goes_on_when_who_gave_it_has_ended(crew: Crew, end: str) -> None:
    for language, heir in zip(crew, reversed(list(crew.values())), strict=True):
        giver = Worker(language)
        crew.join(giver)
        token, text = handed_over(giver, language)
        getattr(giver, end)()
        assert done(heir, "lock.acquire", language, options(ttl_ms=TTL_MS - 1), wait_ms=0) is False
        seen = adopted(heir, language, text)
        assert (seen["held"], seen["token"]) == (True, token)
        assert done(heir, "lock.release", language, options()) is True
