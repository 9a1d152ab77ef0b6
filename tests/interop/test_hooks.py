"""The same calls in every language, and what their clients tell of them: the same, in the same order."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from programs import PHP, PYTHON

SCRIPTS = Path(__file__).parent / "hooks"
LANGUAGES: dict[str, list[str | Path]] = {
    "python": [*PYTHON, SCRIPTS / "hooks.py"],
    "aio": [*PYTHON, SCRIPTS / "hooks.py", "aio"],
    "node": ["node", SCRIPTS / "hooks.mjs"],
    "php": [*PHP, SCRIPTS / "hooks.php"],
}
# Each a verb, whose limiter, a key and an amount if there is one (durations are seconds); and what is told of it, of
# decisions the limiter, whether it was admitted or would be denied, its limit, what is left, the cost and the key.
CALLS: list[tuple[list[Any], list[Any]]] = [
    (["consume", "checkout", "a"], [["checkout", True, False, 4, 3, 1, "a"]]),
    (["consume", "checkout", "a", 2], [["checkout", True, False, 4, 1, 2, "a"]]),
    (["peek", "checkout", "a"], []),
    (["consume", "checkout", "a", 0], []),
    (["require", "checkout", "a"], [["checkout", True, False, 4, 0, 1, "a"]]),
    (["require", "checkout", "a"], [["checkout", False, False, 4, 0, 1, "a"], "limited"]),
    (["consume", "checkout", "a"], [["checkout", False, False, 4, 0, 1, "a"]]),
    (["refund", "checkout", "a", 1], []),
    (["consume_up_to", "checkout", "a", 3], [["checkout", True, False, 4, 0, 1, "a"]]),
    (["consume_up_to", "checkout", "a", 3], [["checkout", False, False, 4, 0, 0, "a"]]),
    (["wait", "checkout", "b", 1], [["checkout", True, False, 4, 3, 1, "b"]]),
    (["reserve", "checkout", "b", 2], [["checkout", True, False, 4, 1, 2, "b"]]),
    (["reserve", "checkout", "b", 2], [["checkout", False, False, 4, 1, 2, "b"]]),
    (["consume", "trial", "t"], [["trial", True, False, 1, 0, 1, "t"]]),
    (["consume", "trial", "t"], [["trial", True, True, 1, 0, 1, "t"]]),
    (
        ["consume_all", None, [["checkout", "c"], ["trial", "c"]]],
        [["checkout", True, False, 4, 3, 1, "c"], ["trial", True, False, 1, 0, 1, "c"]],
    ),
    # The first would have been admitted: it was neither charged nor denied.
    (
        ["consume_all", None, [["checkout", "d"], ["checkout", "a"], ["trial", "t"]]],
        [["checkout", False, False, 4, 0, 1, "a"], ["trial", True, True, 1, 0, 1, "t"]],
    ),
    (["block", "checkout", "e", 60], []),
    (["consume", "checkout", "e", 0], [["checkout", False, False, 4, 0, 0, "e"]]),
    (["consume", "checkout", "", 1], ["invalid_argument"]),
    (["lose", None, "sku:42"], [["lost", "sku:42"]]),
]


@pytest.mark.parametrize("store", ["memory", "redis-7.0", "valkey-9.1"])
def test_all_languages_tell_the_same(store: str) -> None:
    url = {"memory": "memory://", **json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])}[store]
    expected = [part for (verb, *_), told in CALLS for part in (verb, *told)]
    sources = {}
    for language in LANGUAGES:
        told = _told(language, url)
        sources[language] = [each.pop(3) for each in told if isinstance(each, list) and len(each) > 2]
        assert told == expected, language
    assert all(found == sources["python"] for found in sources.values()), sources
    assert set(sources["python"]) == ({"memory"} if store == "memory" else {"redis", "deny-cache"})


def _told(language: str, url: str) -> list[Any]:
    command = [*LANGUAGES[language], url, f"hooks-{uuid.uuid4().hex}", json.dumps([call for call, _ in CALLS])]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found: list[Any] = json.loads(run.stdout)
    return found
