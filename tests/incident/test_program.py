"""How programs in the background are watched."""

from __future__ import annotations

import subprocess
import sys
import time

from program import has_ended


def test_the_end_of_a_process_is_seen_without_the_lock_that_an_interrupted_poll_leaves_held() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not has_ended(process)
        assert process.stdin
        process.stdin.close()
        with process._waitpid_lock:  # type: ignore[attr-defined]
            until = time.monotonic() + 10
            while not has_ended(process):
                assert time.monotonic() < until
        assert process.wait(10) == 1
        assert has_ended(process)
