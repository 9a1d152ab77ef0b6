"""Whom Quotalock is compared with, and how each is set up."""

from __future__ import annotations

from dataclasses import dataclass, replace

from measurements import ROOT

WORKERS = ROOT / "bench/compare/workers"
INTERPRETER = str(ROOT / "target/peers/python/bin/python")
EXTENSION = ROOT / "bindings-php/modules/ratelimit.so"
# Built before anything is measured; cargo becomes the program it runs.
RUST_BUILD = ("--quiet", "--release", "--package", "quotalock-tests", "--example", "compare")

_MODULE = ("env", f"PYTHONPATH={ROOT / 'bench'}", INTERPRETER, "-m")
# The worker of each language.
COMMANDS: dict[str, tuple[str, ...]] = {
    "PHP": (
        "php",
        *("-d", f"extension={EXTENSION}", "-d", "redis.pconnect.echo_check_liveness=0"),
        *("-d", "opcache.enable_cli=1", str(WORKERS / "php.php")),
    ),
    "Python": (*_MODULE, "compare.workers.sync"),
    "asyncio": (*_MODULE, "compare.workers.aio"),
    "Node": ("node", str(WORKERS / "node.mjs")),
    "Rust": ("cargo", "run", *RUST_BUILD, "--"),
}


@dataclass(frozen=True)
class Peer:
    """A library: its name, that of its adapter in the worker, how it is set up, and what explains where it is ahead.
    A `floor` is nobody's rival."""

    name: str
    client: str
    setting: str = ""
    ahead: str = ""
    floor: bool = False


OURS = Peer("Quotalock", "quotalock", "defaults, except a timeout of 5 s, so that no call times out on a busy machine")
LEASED = Peer("Quotalock, prefetch of 100", "quotalock-lease", "as Quotalock, with `prefetch=100`")
OURS_BESIDE = replace(OURS, floor=True)
OURS_HERE = Peer("Quotalock, memory://", "quotalock-memory", "as Quotalock, on `memory://`")

_LUA = "a script that only counts, called by its hash (`EVALSHA`), which is known in advance"
_LESS = (
    "Their scripts do less: they return yes or no, without the wait and the remaining calls. They have no deadline, "
    "and a counter that lost its TTL denies forever."
)
_LESS_HERE = "They keep one number per key: no policies of several rules, no change of a policy, no deadline."


def _raw(name: str, client: str, more: str = "") -> Peer:
    return Peer(name, client, f"{_LUA}{more}", _LESS)


PHP = (
    OURS,
    _raw("phpredis, Lua", "phpredis", "; `pconnect`, without its ECHO (`redis.pconnect.echo_check_liveness=0`)"),
    _raw("predis, Lua", "predis", "; a persistent connection with TCP_NODELAY"),
    Peer("Symfony RateLimiter", "symfony", "`fixed_window` in a cache pool over phpredis, no lock: it allows too many"),
    Peer("Symfony RateLimiter, lock", "symfony-lock", "the same with a lock in Redis, as its documentation advises"),
    Peer("Laravel RateLimiter", "laravel", "`attempt` on the Redis store over phpredis, persistent connection"),
    Peer(
        "Laravel Redis::throttle",
        "laravel-throttle",
        "its script by `EVAL`, over phpredis, persistent connection",
        _LESS,
    ),
)
PHP_UNIX = (
    Peer("Quotalock, unix socket", "quotalock-unix", "as Quotalock, with a `unix://` URL"),
    _raw("phpredis, Lua, unix socket", "phpredis-unix", "; `pconnect` to the socket"),
)
PYTHON = (
    OURS,
    _raw("redis-py, Lua", "redis-py", "; with hiredis"),
    _raw("valkey-glide, Lua", "glide", "; sent by `invoke_script` of its synchronous client"),
    Peer("limits", "limits", "`FixedWindowRateLimiter.hit` on redis-py with hiredis", _LESS),
    Peer("throttled-py", "throttled", "its fixed window, on redis-py with hiredis", _LESS),
    Peer("pyrate-limiter", "pyrate", "its log, one bucket per key, without waiting, on redis-py with hiredis"),
)
ASYNCIO = (
    OURS,
    _raw("redis.asyncio, Lua", "redis-asyncio", "; with hiredis; a connection for each call in flight"),
    _raw("valkey-glide, Lua", "glide", "; sent by `invoke_script`, with a raised limit of calls in flight"),
    Peer("limits.aio", "limits", "`FixedWindowRateLimiter.hit` on redis.asyncio, its faster client", _LESS),
    Peer("throttled-py", "throttled", "its fixed window, on redis.asyncio", _LESS),
)
NODE = (
    OURS,
    _raw("ioredis 6, Lua", "ioredis6"),
    _raw("ioredis 5, Lua", "ioredis5"),
    _raw("node-redis, Lua", "node-redis"),
    _raw("valkey-glide, Lua", "glide", "; sent by `invokeScript`, with a raised limit of calls in flight"),
    Peer("rate-limiter-flexible", "flexible", "`RateLimiterRedis` on ioredis 6", _LESS),
    Peer("rate-limit-redis", "rate-limit-redis", "`increment` of its store, on ioredis 6", _LESS),
)
FLEXIBLE_BLOCK = Peer(
    "rate-limiter-flexible, in-memory block",
    "flexible-block",
    "the same with `inMemoryBlockOnConsumed` at the limit: it denies without a call until the window ends",
    "It trusts its own memory until the window ends, so it misses a reset or a larger limit by another process.",
)
IOREDIS_AUTO = _raw("ioredis 6, auto-pipelining", "ioredis6-auto", "; with `enableAutoPipelining`")

MEMORY = {
    "Rust": (
        OURS_HERE,
        Peer("governor", "governor", "its keyed limiter in a DashMap, with quanta's clock", _LESS_HERE),
    ),
    "Python": (
        OURS_HERE,
        Peer("limits, memory", "limits-memory", "`MemoryStorage`, fixed window"),
        Peer("throttled-py, memory", "throttled-memory", "`MemoryStore`, fixed window, large enough for all keys"),
        Peer("pyrate-limiter, memory", "pyrate-memory", "`InMemoryBucket` for each key"),
    ),
    "PHP": (
        OURS_HERE,
        Peer("Symfony RateLimiter, memory", "symfony-memory", "`InMemoryStorage`, no lock"),
        Peer("Laravel RateLimiter, array", "laravel-memory", "`attempt` on the array store"),
    ),
    "Node": (OURS_HERE, Peer("RateLimiterMemory", "flexible-memory", "a class of rate-limiter-flexible", _LESS_HERE)),
}
_WEAK = "They promise less: no queue of waiters, no fencing token, no signal when the lock is lost."
LOCKS = {
    "PHP": (
        OURS,
        Peer("Symfony Lock", "symfony", "`RedisStore` over phpredis", _WEAK),
        Peer("Laravel Cache lock", "laravel", "its Redis store over phpredis, persistent connection", _WEAK),
    ),
    "Python": (OURS, Peer("redis-py Lock", "redis-py", "with a timeout, not bound to a thread", _WEAK)),
    "Node": (
        OURS,
        Peer("redis-semaphore Mutex", "redis-semaphore", "on ioredis 6, with its default renewal", _WEAK),
        Peer("redlock 4", "redlock", "the newest stable release, on one server, by ioredis 5", _WEAK),
    ),
}
_PLAIN = "They only read a value: no lease for the caller that loads, no stale value during a load."
CACHES = (
    OURS,
    Peer("Symfony Cache", "symfony", "`RedisAdapter::get` over phpredis", _PLAIN),
    Peer("Laravel Cache", "laravel", "`remember` of the Redis store over phpredis", _PLAIN),
)
