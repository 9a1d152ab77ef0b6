"""The play in four acts: sets the stage for each, shows it live, and says at the end what did not come out right."""

from __future__ import annotations

import time
from pathlib import Path

import fleet
import onslaught
import plot
import report
import sale
import sale_plot
import screen
import verdict
from needs import EXTENSION, ROOT, find_tools, require_packages
from program import Program, free_port, listens
from rediskey import RedisKey
from sale_outcome import PER_BUYER, Sale
from shop import WORKERS, open_shop
from siege import USERS

SCRIPTS = Path(__file__).parent / "www"

BROKEN_KEY = b"checkout:hot-item"
OUR_KEY = b"ql:limit:checkout:{hot-item}"

LOAD = f"siege with {USERS} users, {WORKERS} php-fpm workers"

# It dies at about every second expiry of its key, so with windows of up to 2 s this is never reached by chance.
DIES_WITHIN = 60


class Play:
    """All that a run needs: a folder for its servers, how long to look on, the window, who buys how long, and where
    results go.
    """

    def __init__(self, folder: Path, seconds: int, window_ms: int, buyers: int, sale_seconds: int, out: Path) -> None:
        self.tools = find_tools()
        require_packages()
        self.folder = folder
        self.seconds = seconds
        self.window_ms = window_ms
        self.buyers = buyers
        self.sale_seconds = sale_seconds
        self.out = out
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"

    def perform(self) -> list[str]:
        """Plays, writes the results and returns what went wrong, one sentence each."""
        redis = [self.tools.redis, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        redis += ["--save", "", "--appendonly", "no"]
        began = time.monotonic()
        with Program("redis-server", redis, self.folder / "redis-server.log", lambda: listens(self.port)):
            broken = self.act_1()
            if broken.dead_after is None:
                return [f"the broken limiter did not die within {DIES_WITHIN} s; run it again"]
            cured = self.act_2(broken.length)
            shared = self.act_3()
        sold = self.act_4()
        tables = "\n".join([report.onslaught_table(broken, cured), report.fleet_table(shared), report.sale_table(sold)])
        picture = plot.draw(
            [second.admitted for second in broken.seconds],
            [second.admitted for second in cured.seconds],
            dead_after=broken.dead_after,
            limit=1000 / self.window_ms,
        )
        files = {"table.md": tables, "admitted.svg": picture, "sale.svg": sale_plot.draw(sold)}
        files["figures.json"] = report.as_json(self.window_ms, broken, cured, shared, sold)
        report.write(self.out, files)
        screen.end(tables, self.out, time.monotonic() - began)
        return verdict.complaints(broken, cured, shared, 1000 / self.window_ms) + verdict.of_sale(sold)

    def act_1(self) -> onslaught.Onslaught:
        """Runs the code of the incident until it dies, and on."""
        screen.act(1, "the code of the incident", f"SET key 1 NX PX {self.window_ms}, then DECR; {LOAD}")
        length = DIES_WITHIN + self.seconds
        settings = {"env[REDIS_PORT]": str(self.port)}
        return self._onslaught("broken.php", settings, BROKEN_KEY, None, length, after_death=self.seconds)

    def act_2(self, length: int) -> onslaught.Onslaught:
        """Runs the same shop with the extension, under the same load, as long."""
        screen.act(2, "the same with extension=ratelimit.so", f"policy 1/{self.window_ms}ms; {LOAD}")
        settings = {"php_admin_value[ratelimit.url]": self.url}
        return self._onslaught("quotalock.php", settings, OUR_KEY, EXTENSION, length)

    def act_3(self) -> fleet.Fleet:
        """Shares one limit between three languages."""
        clients = fleet.clients_of_log()
        what = f"{len(clients):,} requests of {len(set(clients)):,} clients, from {fleet.LOG.relative_to(ROOT)}"
        screen.act(3, f"one limit in PHP, Python and Node: {fleet.POLICY} per client", what)
        settings = {"php_admin_value[ratelimit.url]": self.url, "env[CLIENT_POLICY]": fleet.POLICY}
        with open_shop(
            self.tools, self.folder / "shop-3", SCRIPTS / "client.php", settings=settings, extension=EXTENSION
        ) as shop:
            return fleet.run(self.tools, self.url, shop, clients, screen.Services())

    def act_4(self) -> Sale:
        """Sells something that everybody wants."""
        quantity = self.buyers // 10
        screen.act(
            4,
            f"{quantity:,} units, {self.buyers:,} buyers in PHP, Python and Node, {PER_BUYER} for each at most",
            f"held for {self.sale_seconds * sale.HOLD:g} s, then paid, or not: who holds one may die before",
        )
        folder = self.folder / "sale"
        folder.mkdir()
        port = free_port()
        url = f"redis://127.0.0.1:{port}"
        command = [self.tools.redis, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        # What it has answered it knows after a crash too.
        command += ["--appendonly", "yes", "--appendfsync", "always"]
        settings = {"php_admin_value[ratelimit.url]": url, "env[STOCK]": sale.STOCK}
        with (
            Program("redis-server", command, folder / "redis-server.log", lambda: listens(port)) as redis,
            open_shop(
                self.tools, folder / "shop", SCRIPTS / "sale.php", settings=settings, extension=EXTENSION
            ) as shop,
            sale.Director(self.tools, redis, url, shop, folder, self.buyers, self.sale_seconds) as director,
        ):
            return director.run(screen.Sale(), screen.event)

    def _onslaught(
        self,
        script: str,
        settings: dict[str, str],
        key: bytes,
        extension: Path | None,
        length: int,
        *,
        after_death: int | None = None,
    ) -> onslaught.Onslaught:
        folder = self.folder / script
        folder.mkdir()
        settings = settings | {"env[WINDOW_MS]": str(self.window_ms)}
        with (
            open_shop(self.tools, folder / "shop", SCRIPTS / script, settings=settings, extension=extension) as shop,
            RedisKey(self.port, key) as watched,
        ):
            return onslaught.run(
                self.tools,
                folder / "siege",
                shop,
                watched,
                length=length,
                after_death=after_death,
                on_second=screen.Seconds(1000 / self.window_ms),
                on_death=screen.death,
            )
