"""Children that tests fork."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def fork(work: Callable[[], object]) -> int:
    """Runs `work` in a child that ends without any cleaning up of the parent's."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def all_well(children: list[int]) -> bool:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)
