"""Executes the vectors of stocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import quotalock
import spec
from spec import Case, seconds

if TYPE_CHECKING:
    from test_vectors import Runner

STATUS = ("phase", "quantity", "available", "held", "sold", "buyers", "per_buyer", "ends")
ENTRY = ("number", "kind", "quantity", "time", "available", "held", "sold")


class Stocks:
    """One case's stocks and reservations, by label."""

    def __init__(self, runner: Runner, client: Any, case: Case) -> None:
        self.call, self.testing, self.store = runner.surface.call, runner.surface.testing, runner.store
        self.client = client
        self.stocks = {
            label: client.stock(spec.octets(how, "name"), spec.octets(how, "scope"))
            for label, how in case["stocks"].items()
        }
        self.held: dict[str, tuple[Any, str]] = {}

    def execute(self, case: Case, assert_error: Any) -> None:
        for number, step in enumerate(case["steps"]):
            place = f"{case['id']} step {number} on {self.store}"
            self.call(self.testing.set_time, self.client, step["at"])
            if "error" in step:
                with pytest.raises(quotalock.QuotalockError) as caught:
                    self.perform(step)
                assert_error(place, step["error"], caught.value)
            else:
                assert self.perform(step) == timed(step.get("expect")), place

    def stock(self, step: Case) -> Any:
        return self.stocks[step["stock"]] if "stock" in step else next(iter(self.stocks.values()))

    def perform(self, step: Case) -> Any:
        """Performs a step: what it answers, in the form of `expect`."""
        op, stock, call = step["op"], self.stock(step), self.call
        once = {"request_id": step["request"]} if "request" in step else {}
        prizes = {"prizes": step["prizes"]} if "prizes" in step else {}
        if op == "open":
            limit = {"per_buyer": step["per_buyer"]} if "per_buyer" in step else {}
            ends = {"ends": step["ends"] / 1e6} if "ends" in step else {}
            return {"opened": call(stock.open, step["quantity"], **limit, **ends, **prizes)}
        if op == "restock":
            return {"quantity": call(stock.restock, step["quantity"], **prizes, **once)}
        if op == "take":
            taken = call(stock.take, spec.octets(step, "buyer"), step["quantity"], step["hold"] / 1e6, **once)
            assert bool(taken) is (taken.outcome == "held")
            wanted = step["expect"]["reservation"]
            held = taken.reservation and self.shown(stock, taken.reservation, wanted)
            return {"outcome": taken.outcome, "available": taken.available, "reservation": held}
        if op == "take_all":
            return self.take_all(step, once)
        if op in ("confirm", "cancel", "extend"):
            return {"done": self.settle(op, stock, step)}
        if op == "close":
            return {"closed": call(stock.close)}
        if op == "status":
            status = call(stock.status)
            return {field: getattr(status, field) for field in STATUS}
        if op == "reservations":
            pages, cursor = [], None
            while True:
                page = call(stock.reservations, cursor, step["count"])
                pages.append([self.shown(stock, held, None) for held in page.reservations])
                if (cursor := page.next) is None:
                    return {"pages": pages}
        if op == "ledger":
            return {"entries": self.ledger(stock, step)}
        if op == "redis_keys":
            stem = self.client.prefix + ":"
            return {"redis_keys": [key.decode().removeprefix(stem) for key in stock.redis_keys]}
        return self.on_key(op, stock.redis_keys[step["key"]], step)

    def take_all(self, step: Case, once: Case) -> Case:
        stocks = [self.stock(item) for item in step["items"]]
        takes = [(stock, item["quantity"]) for stock, item in zip(stocks, step["items"], strict=True)]
        taken = self.call(
            self.client.take_all, takes, buyer=spec.octets(step, "buyer"), hold=step["hold"] / 1e6, **once
        )
        assert bool(taken) is (taken.outcome == "held")
        wanted = step["expect"]["reservations"]
        shown = [self.shown(*each) for each in zip(stocks, taken.reservations, wanted, strict=False)]
        refused = None if taken.refused is None else step["items"][taken.refused]["stock"]
        return {
            "outcome": taken.outcome,
            "refused": refused,
            "available": list(taken.available),
            "reservations": shown,
        }

    def settle(self, op: str, stock: Any, step: Case) -> Any:
        hold = {"hold": step["hold"] / 1e6} if "hold" in step else {}
        if "reservations" in step:
            held = [self.held[label] for label in step["reservations"]]
            return self.call(getattr(self.client, f"{op}_all"), held, **hold)
        if "reservation" in step:
            own, id = self.held[step["reservation"]]
            stock = stock if "stock" in step else own
        else:
            id = step["id"]
        return self.call(getattr(stock, op), id, **hold)

    def ledger(self, stock: Any, step: Case) -> list[Case]:
        after = None
        if "after" in step:
            after = next(e.id for e in self.call(stock.ledger, count=1000) if e.number == step["after"])
        count = {"count": step["count"]} if "count" in step else {}
        return [
            {
                **{field: getattr(entry, field) for field in ENTRY},
                "reservation": entry.reservation and self.known(entry.reservation),
                "buyer": entry.buyer and entry.buyer.decode(),
                "prizes": [prize.decode() for prize in entry.prizes],
            }
            for entry in self.call(stock.ledger, after, **count)
        ]

    def on_key(self, op: str, redis_key: bytes, step: Case) -> Any:
        if op == "raw":
            stored = self.call(self.testing.get, self.client, redis_key)
            return {"exists": stored is not None, "ttl": stored is not None and stored[1] is not None}
        kind, value = ("persist", b"") if op == "persist" else (step.get("type", "string"), spec.octets(step, "value"))
        assert op in ("plant", "persist"), op
        self.call(self.testing.put, self.client, redis_key, kind, b"x" if value is None else value)
        return None

    def shown(self, stock: Any, held: quotalock.StockReservation, wanted: Case | None) -> Case:
        """A reservation as the vectors write it; one that is not known gets the label that is wanted."""
        if wanted is not None:
            self.held.setdefault(wanted["reservation"], (stock, held.id))
        is_hex = wanted is not None and "buyer_hex" in wanted
        buyer = {"buyer_hex": held.buyer.hex()} if is_hex else {"buyer": held.buyer.decode()}
        prizes = [prize.decode() for prize in held.prizes]
        return {
            "reservation": self.known(held.id),
            "quantity": held.quantity,
            **buyer,
            "prizes": prizes,
            "until": held.until,
        }

    def known(self, id: str) -> str:
        return next(label for label, (_, known) in self.held.items() if known == id)


def timed(expect: Any) -> Any:
    """What is expected with its times in seconds."""
    if isinstance(expect, list):
        return [timed(each) for each in expect]
    if isinstance(expect, dict):
        return {n: seconds(v) if n in ("until", "ends", "time") else timed(v) for n, v in expect.items()}
    return expect


def bad_call(call: Any, client: Any, op: str, args: Case) -> None:
    """Makes a call that fails before anything is asked."""
    args = {name: value / 1e6 if name in ("hold", "retention", "ends") else value for name, value in args.items()}
    if "request" in args:
        args["request_id"] = args.pop("request")
    made = {name: args.pop(name) for name in ("name", "scope", "ledger_cap", "retention") if name in args}
    stock = client.stock(**{"name": "stock"} | made)
    if op == "stock":
        return
    if op == "take_all":
        args["takes"] = [(client.stock(name, **made), quantity) for name, quantity in args.pop("items")]
        call(client.take_all, **{"buyer": "buyer"} | args)
    elif op == "confirm_all":
        call(client.confirm_all, [(stock, id) for id in args["ids"]])
    else:
        good: dict[str, Case] = {
            "open": {"quantity": 1},
            "restock": {"quantity": 1},
            "take": {"buyer": "buyer"},
            "extend": {"id": ""},
        }
        call(getattr(stock, op), **good.get(op, {}) | args)
