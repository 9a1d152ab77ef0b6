"""Bad days of caches."""

from __future__ import annotations

from collections.abc import Sequence

from stage import Cell, Stage

PROCESSES, READERS, LOAD_MS = 10, 10, 500


def stampede(command: Sequence[str]) -> Cell:
    """A hundred readers in ten processes want what is not there, and takes half a second to load: how many load it."""
    with Stage(command) as stage:
        adapters = [stage.adapter(timeout=5.0) for _ in range(PROCESSES)]
        for adapter in adapters:
            adapter.begin("read", key="k", load_ms=LOAD_MS, readers=READERS)
        answers = [adapter.end(60.0) for adapter in adapters]
    errors = [answer["error"] for answer in answers if "error" in answer]
    loads = sum(answer.get("loads", 0) for answer in answers)
    text = f"{loads} of {PROCESSES * READERS} load" + (f", {len(errors)} errors" if errors else "")
    return Cell(text, loads == 1 and not errors, {"loads": loads, "readers": PROCESSES * READERS, "errors": errors})
