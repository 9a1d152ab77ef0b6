"""200 keys that are permanent on purpose, as applications have them; some of them change while the doctor looks.

The names and values come close to what limiters and locks leave: a tool that takes a name for a proof changes them.
"""

from __future__ import annotations

import itertools
import time

from member import Member

HEX = "9f86d081884c7d659a2feaa0c55ad015"
SHA = "1574bddb75c78a6fd2251d61e2993b5146201319"
UUID = "7c1f6e0e-6a36-41ee-8c99-0242ac120002"
NOW = int(time.time())
PAST = NOW - 86_400

# Configured limits, -1 for unlimited, quotas, plans.
CONFIGURED = {f"limit:user:{number}": "-1" for number in range(1, 11)}
CONFIGURED |= {f"plan:{name}:limit": value for name, value in (("free", "100"), ("pro", "1000"), ("max", "-1"))}
CONFIGURED |= {f"quota:{name}": value for name, value in (("disk", "-1"), ("mails", "500"), ("seats", "25"))}
CONFIGURED |= {
    "limit:42": "1",
    "limits:tenant:7": "-1",
    "config:rate_limit": "100",
    "config:rate_limit:10.0.0.1": "-1",
    "ratelimit:config": "60",
    "ratelimit:default:3600": "1000",
    "ratelimiter:max:60": "10",
    "throttle:upload:kbps": "2048",
    "throttle:api:60": "100",
    "throttled:plans:3": "-1",
    "attempts:max": "5",
    "max_attempts:10": "3",
    "login_attempts:limit:10": "5",
    "cooldown:seconds:30": "30",
    "api:10.0.0.1:3600": "100000",
    "rl:max": "100",
    "rl:burst:10": "10",
    "rlflx:points": "10",
    "rlflx:partner:42": "-1",
    "fastify-rate-limit-max": "100",
    ":1:rl:config": "5",
    "rate:eur:usd": "1.0843",
    "rate:vat:de": "0.19",
    "rate_limit:partner": "1000",
    "LIMITER/free/5/1/minute": "5",
    "LIMITS:LIMITER/plan/pro/1000/1/hour": "1000",
    "bull:mail:limiter": "10",
    "rack::attack:blocklist:10.0.0.1": "1",
    "throttled:v1:config": "100",
}
# Auctions, games, timers.
TIMED: dict[str, str] = {}
for _number, _bid in (("1", "1500"), ("2", "99"), ("3", "1")):
    TIMED |= {f"auction:{_number}": _bid, f"auction:{_number}:timer": str(PAST)}
TIMED |= {
    "auction:4": "20",
    "auction:4:timer": str(NOW + 3_600),
    "laravel_cache_:auction:9": "700",
    "laravel_cache_:auction:9:timer": str(PAST),
    f"cache:auction:{SHA}": "1200",
    f"cache:auction:{SHA}:timer": str(PAST),
    f"laravel_cache_:{SHA}": "61",
    f"laravel_cache_:{HEX}": "7",
    "quiz:7:timer": str(PAST),
    "chess:42": "17",
    "chess:42:timer": str(PAST),
    "parking:lot:3": "12",
    "parking:lot:3:timer": str(PAST),
    "maintenance:until": str(NOW + 999),
    "report@1795504240": "17",
}
# Sequences, counters, balances, stocks: those below zero too.
COUNTED = {
    "seq:invoice": "100042",
    "seq:order": "77",
    "seq:down": "-17",
    "views:page:1": "10342",
    "views:10.0.0.1": "3",
    "hits:10.0.0.1:60": "5",
    "stat:processed": "12345",
    "stat:failed": "12",
    "likes:post:42": "17",
    "downloads:file:7": "3",
    "user:7:balance": "-250",
    "user:8:balance": "17",
    "account:9:credit_limit": "-500",
    "limit:credit:7": "-250",
    "limit:overdraft:7": "-1000",
    "limits:budget:marketing": "-12000",
    "limit:spend:2026": "-3",
    "wallet:1": "-20",
    "points:user:3": "-5",
    "karma:3": "-12",
    "stock:42": "-3",
    "inventory:sku:9": "-1",
    "inventory:sku:10": "400",
    "seats:flight:LH400": "12",
    "oversold:sku:9": "-2",
    "temperature:sensor:4": "-11",
    "limit:temp:min": "-20",
    "limiter:gain:db": "-6",
    "flood:river:level": "-3",
    "offset:kafka:0": "-2",
    "throttle:position:left": "-4",
    "score:home": "-1",
    "elevator:floor": "-2",
    "timezone:offset": "-180",
    "debt:customer:3": "-999",
    "delta:clock": "-41",
    "parking:free": "-1",
    "retries:policy": "5",
    "tries:default": "3",
    "version:schema": "42",
    "limit:position:7": "-100",
    "limit:margin:3": "-15",
}
# Flags, leaders, states of queues, devices under "lock".
TOKENS = {f"lock:device:{number}": HEX[number:] + HEX[:number] for number in range(8)}
TOKENS |= {f"leader:shard:{number}": f"{number}c1f6e0e-6a36-41ee-8c99-0242ac120002" for number in range(8)}
TOKENS |= {
    f"qo_{name}": value
    for name, value in (("report", "17"), ("invoice", UUID), ("a", HEX), ("flags", "on"), ("x:1", "x"))
}
TOKENS |= {
    "lock:door": "closed",
    "lock:account:7": "admin",
    "locks:enabled": "1",
    "lock": UUID,
    "mutex:policy": "strict",
    "mutex:owner:default": UUID,
    "semaphore:permits": "10",
    "semaphore:size:42": "4",
    "redlock:quorum": "3",
    "redlock:node": HEX,
    "leader": UUID,
    "leader:epoch": "17",
    "leader_election:current": HEX,
    "master:node": "7c1f6e0e6a3611ee8c990242ac120002",
    "overlap:allowed": "0",
    "session:1": UUID,
    "session:2": HEX,
    "token:api:7": HEX,
    "apikey:customer:9": HEX,
    "user:7:uuid": UUID,
    "device:3": UUID,
    "etag:home": HEX,
    "checksum:backup": HEX,
    "sha256:release": HEX * 2,
    "build:id": SHA,
    "nightly": "7c1f6e0e6a3611ee8c990242ac120002",
    "import": HEX,
    "laravel_cache:owner": "aB3dEfGh1jKlMn0p",
    "framework/schedule-version": "11",
    "SINGLETONLOCK_policy": "raise",
    "uniquejobs:version": "7",
    "rq:lock:policy": "strict",
    "rq:clean_registries:enabled": "1",
    "resque:lock:max": "3",
    "unacked_mutex": "1",
    "bull:mail:id": "1042",
    "bull:mail:7:lock": UUID,
    "feature:new_checkout": "on",
    "feature:limits": "off",
    "flag:lock_screen": "true",
    "ab:test:7": "B",
    "ql:settings": "dark",
    "kill_switch": "0",
}
# What else is numbered.
MORE = {f"config:attempts:{number}": str(number) for number in range(5)}
MORE |= {f"rank:user:{number}": str(-number) for number in range(1, 8)}
MORE |= {f"limiter:threshold:db:{number}": str(-6 * number) for number in range(1, 5)}
MORE |= {f"lock:version:{number}": str(number) for number in range(4)}
TEXTS = MORE | CONFIGURED | TIMED | COUNTED | TOKENS
# Other types: a list, a hash, a sorted set, a set.
OTHERS: dict[str, tuple[str, ...]] = {
    "queue:mail": ("RPUSH", "a", "b"),
    "queue:times": ("RPUSH", "1795504240.5435832"),
    "user:1": ("HSET", "name", "Ada"),
    "limit:rules": ("HSET", "5/1/minute", "5"),
    "board:1": ("ZADD", "17", "ada"),
    "board:times": ("ZADD", "1795504240492", "user:1:43c68f106f:1"),
    "lock:holders": ("SADD", UUID),
    "semaphore:users": ("ZADD", "1", UUID),
    "lease:write": ("ZADD", str((NOW + 999_999) * 1_000), "__write__"),
    "editors": ("ZADD", "1", "__write__"),
    "srl:sizes": ("ZADD", "38", "shoes"),
    "uniquejobs:digests": ("ZADD", "1", "a"),
    "LIMITS:LIMITER/teams/5/1/minute": ("RPUSH", "ada"),
    "throttled:v1:plans": ("HSET", "free", "100"),
}
# Those that go on changing: what is done to each, again and again.
MOVES = {
    "seq:invoice": (1,),
    "seq:order": (1,),
    "seq:down": (-1,),
    "views:page:1": (1,),
    "views:10.0.0.1": (1,),
    "hits:10.0.0.1:60": (1,),
    "user:7:balance": (-5, 3),
    "wallet:1": (-1,),
    "points:user:3": (-1,),
    "limit:credit:7": (-7,),
    "limit:overdraft:7": (-10,),
    "limits:budget:marketing": (-100,),
    "limit:spend:2026": (-1,),
    "stock:42": (-1,),
    "inventory:sku:9": (-1,),
    "limit:temp:min": (-1,),
    "throttle:position:left": (-1, 1),
    "limiter:gain:db": (-1, 1),
    "auction:1": (50,),
    f"cache:auction:{SHA}": (10,),
    "laravel_cache_:auction:9": (5,),
    "rate_limit:partner": (1, -1),
    "rl:max": (1, -1),
    "LIMITER/free/5/1/minute": (1, -1),
}


def plant(server: Member) -> int:
    """Writes them all; how many there are."""
    for name, value in TEXTS.items():
        server.ask("SET", name, value)
    for name, (command, *arguments) in OTHERS.items():
        server.ask(command, name, *arguments)
    return len(TEXTS) + len(OTHERS)


def move(server: Member, turn: int) -> None:
    """What an application does to them in between."""
    for name, steps in MOVES.items():
        server.ask("INCRBY", name, next(itertools.islice(itertools.cycle(steps), turn % len(steps), None)))
