"""What a run must have shown; anything else makes the demo fail."""

from __future__ import annotations

from collections import Counter

from fleet import Fleet
from onslaught import Onslaught
from sale_outcome import PER_BUYER, Sale


def complaints(broken: Onslaught, cured: Onslaught, shared: Fleet, limit: float) -> list[str]:
    """Says what did not come out as promised, one sentence each; `limit` is the admitted per second in acts 1 and 2."""
    wrong = []
    if broken.admitted_after_death or not broken.last.is_dead:
        wrong.append("act 1: the broken limiter came back to life")
    if cured.ever_immortal:
        wrong.append("act 2: our key was seen without a TTL")
    silent = [index + 1 for index, second in enumerate(cured.seconds) if second.admitted == 0]
    if silent and limit >= 2:
        wrong.append(f"act 2: nothing was admitted in seconds {silent}")
    if cured.total.admitted > cured.length * limit + 1:
        wrong.append(
            f"act 2: {cured.total.admitted} were admitted in {cured.length} s, too many for {limit:g} a second"
        )
    for number, act in ((1, broken), (2, cured)):
        if act.total.other:
            wrong.append(f"act {number}: {act.total.other} answers were neither 200 nor 429")
    if sum(shared.requests.values(), Counter()) != shared.log:
        wrong.append("act 3: the services did not ask for exactly what the log holds")
    wrong += [
        f"act 3: {client} was admitted {got} times, not {due}" for client, (got, due) in sorted(shared.wrong.items())
    ]
    wrong += [
        f"act 3: nothing was admitted in {name}" for name, admitted in shared.admitted.items() if not admitted.total()
    ]
    return wrong


def of_sale(sale: Sale) -> list[str]:
    """Says what of act 4 did not come out as promised, one sentence each."""
    wrong = [f"act 4: {failure}" for failure in sale.failures]
    if sale.gaps:
        wrong.append(f"act 4: {sale.gaps} entries of the ledger are missing")
    odd = [each for each in sale.numbers if each.available + each.held + each.sold != sale.quantity]
    if odd:
        wrong.append(f"act 4: available, held and sold were not {sale.quantity} together, but {odd[0]}")
    if (sale.last.sold, len(sale.ledger)) != (sale.quantity, sale.quantity):
        wrong.append(f"act 4: {sale.last.sold} were sold, {len(sale.ledger)} by the ledger, not {sale.quantity}")
    if sale.orders != sale.ledger:
        differ = len(sale.orders.items() ^ sale.ledger.items())
        wrong.append(f"act 4: the ledger and the shop's database differ in {differ} orders")
    if strangers := sale.paid.keys() - sale.ledger.keys():
        wrong.append(f"act 4: {len(strangers)} buyers were told that they had bought what the ledger does not have")
    wrong += [
        f"act 4: {buyer} bought {count}, not {PER_BUYER} at most"
        for buyer, count in sorted(sale.per_buyer.items())
        if count > PER_BUYER
    ]
    wrong += [f"act 4: nothing was sold in {language}" for language, told in sale.told.items() if not told["paid"]]
    return wrong
