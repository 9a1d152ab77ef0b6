"""Which libraries there are, and the command of each adapter."""

from __future__ import annotations

from dataclasses import dataclass

from programs import PHP, PYTHON
from servers import ROOT

ADAPTERS = ROOT / "bench/survive/adapters"
# The environment that bench/peers/setup.sh makes; Quotalock itself needs none.
PEERS_PYTHON = str(ROOT / "target/peers/python/bin/python")


@dataclass(frozen=True)
class Library:
    """One row: by what word `ONLY` names it, and how its adapter is started."""

    word: str
    command: tuple[str, ...]


def _php(file: str, *arguments: str) -> tuple[str, ...]:
    return (*PHP, "-d", "display_errors=0", "-d", "log_errors=0", str(ADAPTERS / file), *arguments)


def _python(file: str) -> tuple[str, ...]:
    return (PEERS_PYTHON, str(ADAPTERS / file))


def _node(file: str) -> tuple[str, ...]:
    return ("node", str(ADAPTERS / file))


LIBRARIES = (
    Library("quotalock-php", _php("quotalock.php")),
    Library("quotalock-python", (*PYTHON, str(ADAPTERS / "quotalock_py.py"))),
    Library("quotalock-node", _node("quotalock.mjs")),
    Library("article", _php("article.php")),
    Library("symfony-limiter", _php("symfony_limiter.php")),
    Library("symfony-locked", _php("symfony_limiter.php", "locked")),
    Library("symfony", _php("symfony.php")),
    Library("laravel", _php("laravel.php")),
    Library("limits", _python("limits_py.py")),
    Library("throttled", _python("throttled_py.py")),
    Library("pyrate", _python("pyrate.py")),
    Library("redis-py", _python("redis_py.py")),
    Library("flexible", _node("flexible.mjs")),
    Library("express", _node("express.mjs")),
    Library("fastify", _node("fastify.mjs")),
    Library("redlock", _node("redlock.mjs")),
    Library("redis-semaphore", _node("redis_semaphore.mjs")),
)
