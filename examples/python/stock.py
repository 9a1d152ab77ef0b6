"""A sale of few units to many buyers: held, then sold or returned, never more than there are. Redis: QUOTALOCK_URL."""

import quotalock

client = quotalock.Client()

# Three coupons, of which a buyer gets one.
sale = client.stock("coupons")
sale.open(3, per_buyer=1, prizes=["AAA", "BBB", "CCC"])

# Held for five minutes; sent again after a timeout, the same request gets the same coupon.
taken = sale.take("ada", hold=300.0, request_id="order:1")
again = sale.take("ada", hold=300.0, request_id="order:1")
print(taken.outcome, taken == again, taken.reservation and taken.reservation.prizes)
print(sale.take("ada").outcome, sale.take("bob", 2).outcome)

# Paid: sold. What nobody confirms returns to stock by itself.
if taken.reservation:
    print("sold:", sale.confirm(taken.reservation.id))
print("left:", sale.status().available, [entry.kind for entry in sale.ledger()])

# A basket is taken whole or not at all, and sold so; the scope keeps its stocks together in a cluster.
shirts, hats = (client.stock(name, scope="shop") for name in ("shirts", "hats"))
shirts.open(5)
hats.open(1)
basket = client.take_all([(shirts, 2), (hats, 1)], "ada")
held = [(stock, reservation.id) for stock, reservation in zip((shirts, hats), basket.reservations, strict=True)]
print("basket:", basket.outcome, client.confirm_all(held))
print("another:", client.take_all([(shirts, 1), (hats, 1)], "bob").outcome, shirts.status().available)
