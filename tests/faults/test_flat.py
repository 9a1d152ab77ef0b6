"""What `make soak` calls flat, and what it does not."""

from __future__ import annotations

import random

from flat import LIMITS, STEP, Sample, growth, more_blocks

SECONDS, WARM_UP = 1800, 450


def seen(per_second: float, noise: float = 1.0) -> list[Sample]:
    """Memory that grows at first, then by so much, with noise, and now and then with an outlier."""
    luck = random.Random(1)

    def at(second: int) -> float:
        outlier = 50.0 if luck.random() < 0.1 else 0.0
        return 30 - 10 * max(0, WARM_UP - second) / WARM_UP + second * per_second + luck.gauss(0, noise) + outlier

    return [(second, at(second)) for second in range(0, SECONDS, 5)]


def test_noise_and_outliers_are_flat_and_so_is_a_warm_up() -> None:
    span = growth("it", "memory", seen(0.0), WARM_UP)
    assert span.is_flat
    assert abs(span.growth) < 0.7
    assert 29 < span.median < 32


def test_a_slow_leak_is_found_in_the_noise() -> None:
    limit = LIMITS["memory"]
    a_little_more = (limit.most + limit.share * 30 + 1) / (SECONDS - WARM_UP)
    assert not growth("it", "memory", seen(a_little_more), WARM_UP).is_flat


def test_descriptors_and_threads_that_stay_open_are_found() -> None:
    for what, steps in (("descriptors", 7), ("threads", 3)):
        stairs = [(second, 10.0 + second * steps // SECONDS) for second in range(SECONDS)]
        assert not growth("it", what, stairs, WARM_UP).is_flat, what
        assert growth("it", what, [(second, 10.0) for second, _ in stairs], WARM_UP).is_flat


def test_what_is_there_for_a_moment_hides_no_leak() -> None:
    luck = random.Random(1)
    leak = (LIMITS["by Quotalock"].most + 16) / (SECONDS - WARM_UP)

    def at(second: int, per_second: float) -> float:
        return 500 + second * per_second + luck.choice([0, 0, 100, 600])

    for per_second in (0.0, leak):
        found = [(second, at(second, per_second)) for second in range(0, SECONDS, 3)]
        assert growth("it", "by Quotalock", found, WARM_UP).is_flat == (per_second == 0), per_second


def test_blocks_that_stay_are_told_from_those_that_come_and_go() -> None:
    seen = [[0, second % 7, 40 + second // 10, 3] for second in range(100)]
    assert more_blocks(seen, 0.25) == [(2 * STEP, 5)]
