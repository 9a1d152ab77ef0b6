"""The Python service of act 4: `buyers_python.py REDIS_URL STOCK`."""

from __future__ import annotations

import sys

import quotalock
from buyers import AwayError, Buyers

STOCK = quotalock.Client(sys.argv[1]).stock(sys.argv[2])


def take(buyer: str, hold: float) -> tuple[str, str]:
    """Takes a unit; the request id has a call that is repeated take it once."""
    try:
        taken = STOCK.take(buyer, hold=hold, request_id="python")
    except (quotalock.Unavailable, quotalock.Timeout):
        raise AwayError from None
    return taken.outcome, taken.reservation.id if taken.reservation else ""


def pay(buyer: str, reservation: str, dies: bool) -> str:
    """Sells what is held."""
    try:
        return "paid" if STOCK.confirm(reservation) else "late"
    except (quotalock.Unavailable, quotalock.Timeout):
        raise AwayError from None


if __name__ == "__main__":
    Buyers(take, pay).run()
