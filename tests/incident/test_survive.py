"""`make survive`: what it says of us, of the limiter of the incident, and of what is written by hand."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from days import CACHE, LIMITER, LOCK
from libraries import ADAPTERS, LIBRARIES
from stage import Cell

# By the word of a library, the feature and the word of a day.
Lived = dict[tuple[str, str, str], tuple[Cell, ...]]

COMMANDS = {library.word: library.command for library in LIBRARIES} | {
    "by hand": (sys.executable, str(ADAPTERS / "by_hand.py"))
}
DAYS = {(day.feature, day.word): day for day in LIMITER + LOCK + CACHE}
EVERY = list(DAYS)
FEW = [("limiter", "flush"), ("lock", "flush"), ("lock", "tokens")]
ASKED = {
    "quotalock-python": [day for day in EVERY if day[0] != "cache"],
    "quotalock-php": FEW,
    "quotalock-node": FEW,
    "article": [("limiter", word) for word in ("pause", "flush")],
    "by hand": [("limiter", "ttl"), ("limiter", "leftover"), ("limiter", "crash")]
    + [("lock", word) for word in ("ghost", "stopped", "tokens")],
}
OURS = [word for word in ASKED if word.startswith("quotalock")]


@pytest.fixture(scope="module")
def lived() -> Lived:
    """The cells of all that is asked. They wait most of the time, so many are lived through at once."""
    asked = [(word, *day) for word, days in ASKED.items() for day in days]
    with ThreadPoolExecutor(10) as pool:
        return dict(zip(asked, pool.map(lambda each: DAYS[each[1:]].run(COMMANDS[each[0]]), asked), strict=True))


@pytest.mark.parametrize("library", OURS)
def test_every_day_is_a_good_one_for_us(lived: Lived, library: str) -> None:
    ours = {asked: cells for asked, cells in lived.items() if asked[0] == library}
    assert len(ours) == len(ASKED[library])
    assert {asked: cells for asked, cells in ours.items() if not all(cell.good for cell in cells)} == {}


def test_the_limiter_of_the_incident_dies_between_its_commands(lived: Lived) -> None:
    (pause,), (flush,) = (lived["article", "limiter", word] for word in ("pause", "flush"))
    # Denied for as long as anybody looked, by a key that lives for ever.
    assert (pause.good, pause.figures["denied_s"], pause.figures["keys_live_s"]) == (False, None, None)
    assert pause.figures["after_command"] == 1
    assert flush.good


def test_what_is_written_by_hand_is_found_out(lived: Lived) -> None:
    cells = {asked[1:]: each for asked, each in lived.items() if asked[0] == "by hand"}
    # INCR, a crash, no EXPIRE.
    assert [cells["limiter", word][0].good for word in ("ttl", "crash")] == [False, False]
    assert cells["limiter", "leftover"][0].figures["too_many"] == 1
    # Whoever stood still takes itself for the holder, and releases the lock of another.
    assert [cell.figures for cell in cells["lock", "stopped"]] == [
        {"overlaps": 3, "of": 3},
        {"learns": "never"},
        {"freed": 3, "of": 3},
    ]
    assert cells["lock", "ghost"][0].figures["locked_s"] > 4
    assert cells["lock", "tokens"][0].text == "go back"


@pytest.mark.parametrize("library", [*OURS, "by hand"])
def test_a_stampede_is_seen(library: str) -> None:
    (cell,) = DAYS["cache", "stampede"].run(COMMANDS[library])
    assert cell.good is (library in OURS)
