"""Act 4: a flash sale in PHP, Python and Node, with buyers, workers, Redis and the bookkeeper killed in the middle."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import quotalock
from crowd import Ask, Crowd, popen
from needs import DemoError, Tools
from program import Program, has_ended
from sale_outcome import PER_BUYER, Event, Numbers, Sale
from shop import Shop

HERE = Path(__file__).parent
STOCK = "flash"
LANGUAGES = ("PHP", "Python", "Node")
# Each of so many buyers asks in every language at once, for one more than a buyer may have.
GREEDY = 10
# Each of so many payments in PHP is taken by a worker that dies before it has confirmed.
DIES = 12
# As parts of the time in which buyers come: when who is killed, how long a hold lasts and a buyer thinks, and until
# when there are deaths. What the dead held is back before the last buyers come.
KILLS = {"Python": (0.2, 0.45), "Node": (0.26, 0.5)}
BOOKKEEPER_AT = 0.33
AWAY_AT, AWAY_FOR = 0.38, 0.05
HOLD = 0.25
THINKS = (0.01, 0.1)
DEATHS_UNTIL = 0.6
ENDS_WITHIN = 30.0


class Director:
    """Runs the sale: `length` seconds in which `buyers` come for a tenth as many units."""

    def __init__(
        self, tools: Tools, redis: Program, url: str, shop: Shop, folder: Path, buyers: int, length: float
    ) -> None:
        self.redis, self.url, self.length = redis, url, length
        self.result = Sale(buyers // 10, buyers)
        self.client = quotalock.Client(url)
        self.stock = self.client.stock(STOCK)
        self.database = folder / "shop.sqlite"
        self.began = 0.0
        commands = {
            "PHP": [sys.executable, str(HERE / "buyers_php.py"), shop.url],
            "Python": [sys.executable, str(HERE / "buyers_python.py"), url, STOCK],
            "Node": [tools.node, str(HERE / "buyers.mjs"), url, STOCK],
        }
        asks = schedule(buyers, length, random.Random(4))
        self.result.asked = {language: len(each) for language, each in asks.items()}
        self.crowds = {
            language: Crowd(language, command, list(shifts(language, asks[language], length)), length * HOLD)
            for language, command in commands.items()
        }
        self.bookkeeping = [sys.executable, str(HERE / "bookkeeper.py"), url, STOCK, str(self.database)]
        self.bookkeeper = popen(self.bookkeeping)

    def run(self, on_second: Callable[[int, Director], None], on_event: Callable[[Event], None]) -> Sale:
        """Opens the sale, kills what has to be killed, and counts at the end."""
        self.stock.open(self.result.quantity, per_buyer=PER_BUYER)
        self.on_event = on_event
        for crowd in self.crowds.values():
            crowd.make_ready()
        self.began = time.monotonic() + 0.2
        for crowd in self.crowds.values():
            crowd.go(self.began)
        # All in this thread: a process ends with the thread that started it.
        second, troubles = 1, sorted(self.troubles(), key=lambda trouble: trouble[0])
        while not self.is_over(second):
            if troubles and troubles[0][0] < second:
                at, trouble = troubles.pop(0)
                self.sleep_until(at)
                trouble()
                continue
            self.sleep_until(second)
            on_second(second, self)
            second += 1
        for crowd in self.crowds.values():
            crowd.end()
        self.serve_the_queue()
        self.close_the_books()
        return self.result

    def is_over(self, second: int) -> bool:
        """Whether the last buyer has gone."""
        if second > self.length + ENDS_WITHIN:
            raise DemoError("the buyers do not go")
        return second > self.length and all(has_ended(each.process) for each in self.crowds.values())

    def troubles(self) -> Iterator[tuple[float, Callable[[], None]]]:
        """What is done to the sale, and when."""
        for language, moments in KILLS.items():
            for part in moments:
                yield part * self.length, functools.partial(self.kill_buyers, language)
        yield BOOKKEEPER_AT * self.length, self.kill_bookkeeper
        yield AWAY_AT * self.length, self.kill_redis
        yield (AWAY_AT + AWAY_FOR) * self.length, self.start_redis

    def kill_buyers(self, language: str) -> None:
        """Kills a language's process in the middle of all that its buyers do."""
        died = self.crowds[language].kill(self.began)
        self.tell(f"kill -9: the {language} process, and {died} buyers between take and payment", died)

    def kill_bookkeeper(self) -> None:
        """Kills who writes the orders, and has another go on."""
        self.bookkeeper.kill()
        self.bookkeeper.wait()
        self.bookkeeper = popen(self.bookkeeping)
        self.tell("kill -9: the bookkeeper, who writes orders from the ledger into SQLite")

    def kill_redis(self) -> None:
        """Kills Redis."""
        self.redis.end(signal.SIGKILL)
        self.result.away = (self.passed, self.passed)
        self.tell("kill -9: Redis")

    def start_redis(self) -> None:
        """Has it come back with its append-only file."""
        self.redis.start()
        began, now = self.result.away[0], self.passed
        self.result.away = (began, now)
        self.tell(f"Redis is back from its append-only file, after {now - began:.1f} s")

    def tell(self, text: str, buyers: int | None = None) -> None:
        """Notes and shows that something happened."""
        event = Event(self.passed, text, buyers)
        self.result.events.append(event)
        self.on_event(event)

    @property
    def passed(self) -> float:
        """Seconds since the sale began."""
        return time.monotonic() - self.began

    def sleep_until(self, second: float) -> None:
        """Sleeps until so many seconds after the sale began."""
        time.sleep(max(0.0, self.began + second - time.monotonic()))

    def status(self) -> quotalock.StockStatus | None:
        """The numbers of the sale; none while Redis is away."""
        with contextlib.suppress(quotalock.Unavailable, quotalock.Timeout):
            return self.stock.status()
        return None

    def serve_the_queue(self) -> None:
        """Offers what is left to those who were told that it is sold out: on a slow machine the last holds end late."""
        queue = [buyer for crowd in self.crowds.values() for buyer in crowd.sold_out]
        python = self.crowds["Python"]
        while queue and (left := self.stock.status()).available + left.held > 0:
            if left.available == 0:
                time.sleep(0.1)
                continue
            if (reservation := self.stock.take(queue.pop(0), hold=10.0).reservation) is not None:
                self.stock.confirm(reservation.id)
                python.paid[reservation.id] = reservation.buyer.decode()
                python.told.update(["held", "paid"])

    def close_the_books(self) -> None:
        """Reads what the ledger, the shop's database and the buyers say."""
        result = self.result
        self.bookkeeper.communicate(timeout=ENDS_WITHIN)
        if self.bookkeeper.returncode:
            raise DemoError("the bookkeeper failed, see above")
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            result.orders = dict(database.execute("SELECT reservation, buyer FROM orders"))
        epoch, number = time.time() - self.passed, 0
        for entry in self.entries():
            result.gaps += entry.number - number - 1
            number = entry.number
            result.kinds[entry.kind] += 1
            result.numbers.append(Numbers(entry.time - epoch, entry.available, entry.held, entry.sold))
            if entry.kind == "confirmed" and entry.reservation is not None and entry.buyer is not None:
                result.ledger[entry.reservation] = entry.buyer.decode()
        for language, crowd in self.crowds.items():
            result.told[language] = crowd.told
            result.paid |= crowd.paid
            result.failures += crowd.failures

    def entries(self) -> Iterator[quotalock.LedgerEntry]:
        """Reads the ledger."""
        after = None
        while entries := self.stock.ledger(after, 1000):
            yield from entries
            after = entries[-1].id

    def __enter__(self) -> Director:
        return self

    def __exit__(self, *_: object) -> None:
        for crowd in self.crowds.values():
            crowd.close()
        self.bookkeeper.kill()
        self.bookkeeper.wait()
        self.client.close()


def schedule(buyers: int, length: float, luck: random.Random) -> dict[str, list[Ask]]:
    """When who asks in which language: more and more of them, in an order of chance."""
    asks: dict[str, list[Ask]] = {language: [] for language in LANGUAGES}
    for number in range(buyers):
        languages = LANGUAGES if number % GREEDY == 0 else [LANGUAGES[number % len(LANGUAGES)]]
        at = length * luck.random() ** 0.5
        for language in languages:
            dies = language == "PHP" and luck.randrange(DIES) == 0 and at < DEATHS_UNTIL * length
            asks[language].append((at, f"buyer-{number}", length * luck.uniform(*THINKS), dies))
    return {language: sorted(each) for language, each in asks.items()}


def shifts(language: str, asks: list[Ask], length: float) -> Iterator[list[Ask]]:
    """Deals the asks of a language out to its processes: each goes on from when the one before it is killed."""
    moments = [0.0, *(part * length for part in KILLS.get(language, ())), length]
    for begin, end in itertools.pairwise(moments):
        yield [ask for ask in asks if begin <= ask[0] < end]
