"""`make demo`, short: a limiter dies, ours does not, three languages share one exact limit and sell what there is."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import needs
import pytest
from demo_run import DEMO, DemoRun, alive, descendants

LIMIT_PER_SECOND = 10


def test_it_succeeds(demo: DemoRun) -> None:
    assert (demo.returncode, demo.errors) == (0, "")


def test_the_broken_limiter_dies_for_good(demo: DemoRun) -> None:
    broken = demo.figures["broken"]
    assert 0 < broken["dead_after_s"] < 60
    assert (broken["ttl_ms_at_end"], broken["admitted_after_death"]) == (-1, 0)
    assert int(broken["value_at_end"]) < -100
    assert all(second["admitted"] == 0 and second["denied"] > 0 for second in broken["per_second"][-3:])


def test_ours_admits_the_limit_in_every_second(demo: DemoRun) -> None:
    ours = demo.figures["quotalock"]
    assert ours["dead_after_s"] is None
    # -1 is a key that never goes; on a busy machine it is gone by the time of the last look, which is -2.
    assert ours["ttl_ms_at_end"] > 0 or ours["ttl_ms_at_end"] == -2
    assert all(second["admitted"] > 0 for second in ours["per_second"])
    # On a busy machine a second may bring no more requests than the limit admits. Otherwise some are denied.
    assert all(second["denied"] > 0 or second["admitted"] <= LIMIT_PER_SECOND + 1 for second in ours["per_second"])
    assert ours["denied"] > 0
    assert ours["length_s"] == demo.figures["broken"]["length_s"]
    assert ours["admitted"] <= ours["length_s"] * LIMIT_PER_SECOND + 1
    assert ours["other"] == 0


def test_three_languages_admit_together_exactly_the_limit(demo: DemoRun) -> None:
    fleet = demo.figures["fleet"]
    assert fleet["wrong"] == {}
    assert sum(fleet["requests"].values()) == 10_000
    assert sum(fleet["admitted"].values()) == fleet["expected"] < 10_000
    assert fleet["admitted"].keys() == {"PHP", "Python", "Node"}
    assert all(admitted > 0 for admitted in fleet["admitted"].values())


def test_a_flash_sale_sells_exactly_what_there_is(demo: DemoRun) -> None:
    sale = demo.figures["sale"]
    assert (sale["quantity"], sale["buyers"]) == (150, 1500)
    assert sale["sold"] == sale["sold_by_ledger"] == sale["orders"] == 150
    assert sale["most_of_a_buyer"] <= 2
    assert sale["asked"].keys() == {"PHP", "Python", "Node"}
    # Each tenth asks in all three.
    assert sum(sale["asked"].values()) == 1500 + 2 * 150


def test_the_sale_is_killed_from_all_sides(demo: DemoRun) -> None:
    sale = demo.figures["sale"]
    texts = [event["text"] for event in sale["events"]]
    for killed, times in (("Python process", 2), ("Node process", 2), ("bookkeeper", 1), ("-9: Redis", 1)):
        assert sum(killed in text for text in texts) == times, texts
    begin, end = sale["redis_away"]
    assert 0 < begin < end < begin + 5
    # PHP loses single workers.
    assert all(told["died"] > 0 for told in sale["told"].values())
    # What the dead held has returned.
    assert sale["changes"]["expired"] > 0
    assert sale["changes"]["held"] == sale["changes"]["confirmed"] + sale["changes"]["expired"]


def test_the_picture_of_the_sale_marks_who_dies(demo: DemoRun) -> None:
    picture = ElementTree.parse(demo.out / "sale.svg")
    words = {"".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"sold", "held", "available", "Redis away", "seconds since the sale began"} <= words
    assert sum(text.endswith(" die") for text in words) > 0


def test_it_shows_each_second_and_the_death_in_a_hundred_columns(demo: DemoRun) -> None:
    lines = demo.lines
    assert max(map(len, lines)) <= 100
    assert sum("dead after" in line and "every buyer is refused" in line for line in lines) == 1
    seconds = [line.split() for line in lines if line[:6].strip().isdigit()]
    length = demo.figures["broken"]["length_s"]
    assert [int(words[0]) for words in seconds[: 2 * length]] == 2 * list(range(1, length + 1))
    assert (demo.out / "table.md").read_text() in "\n".join(lines)


def test_the_plot_marks_the_death(demo: DemoRun) -> None:
    picture = ElementTree.parse(demo.out / "admitted.svg")
    words = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any(f"dead after {demo.figures['broken']['dead_after_s']:.2f} s" in text for text in words)
    assert {"admitted per second", "seconds since the first request", "Quotalock"} <= set(words)


def test_it_leaves_nothing_behind(demo: DemoRun) -> None:
    assert list(demo.home.iterdir()) == []
    assert list(demo.temporary.iterdir()) == []
    assert len(demo.started) > 40
    assert alive(demo.started) == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_cleans_up_when_interrupted(short_folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [*DEMO, "--out", str(short_folder / "out")],
        env=os.environ | {"TMPDIR": str(short_folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert any("dead after" in line for line in run.stdout)
        started = descendants(run.pid)
        assert len(started) > 10
        run.send_signal(number)
        _, errors = run.communicate(timeout=20)
    assert (run.returncode, errors) == (128 + number, "")
    assert list(short_folder.iterdir()) == []
    assert alive(started) == set()


def test_what_it_starts_ends_with_it_even_when_it_is_killed(short_folder: Path) -> None:
    with subprocess.Popen(
        DEMO, env=os.environ | {"TMPDIR": str(short_folder)}, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert any("dead after" in line for line in run.stdout)
        started = descendants(run.pid)
        run.kill()
    give_up = time.monotonic() + 15
    while alive(started) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert alive(started) == set()


def test_it_says_what_to_install(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "SEARCH", str(short_folder))
    with pytest.raises(needs.DemoError, match=r"redis-server, php-fpm8.2, nginx, siege, node not found.*make setup"):
        needs.find_tools()


def test_it_says_what_to_build(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "ROOT", short_folder)
    monkeypatch.setattr(needs, "EXTENSION", short_folder / "bindings-php/modules/ratelimit.so")
    with pytest.raises(needs.DemoError, match=r"not built: the PHP extension .*, the Node package .*make build"):
        needs.require_packages()
