"""What a user writes first: type-checked by mypy, and run by `test_surface.py`."""

import quotalock

checkout = quotalock.Client("memory://").limiter("checkout", "10/minute;100/hour")
decision = checkout.consume("user:42")
print(decision.allowed, decision.remaining, decision.retry_after)

retry_after: float | None = decision.retry_after
rules: tuple[quotalock.RuleDecision, ...] = decision.rules
source: str = decision.source
per_user = quotalock.Client("memory://").limiter("api", [quotalock.Rule(5, 1), quotalock.Rule(100, 3600.0)])
try:
    per_user.require(b"\xff\x00", cost=6)
except quotalock.RateLimited as denied:
    print(denied.code, denied.decision.limit, denied.decision.retry_after)

client = quotalock.Client("memory://", request_memory=5)
users, teams = client.limiter("users", "10/minute", scope="eu"), client.limiter("teams", "9/s", b"eu", enforce=False)
both: quotalock.CombinedDecision = client.consume_all([(users, "42"), (teams, b"blue", 3)], request_id="r")
if both and not both.decisions[both.binding].would_deny:
    print(users.refund("42", 1, b"r").remaining, users.consume_up_to("42", most=20).cost)
if reservation := teams.reserve("blue", estimate=5, ttl=30, unsettled="returned"):
    ended: bool = teams.reservation(reservation.key, reservation.id).settle(4)

with client.lock("sku:42", ttl=30, wait=0.1, label="checkout") as lock:
    token: int | None = lock.token
    print(
        lock.held, lock.state, lock.lost.is_set(), lock.lost.wait(0.01), lock.extend(60.0), lock.names, lock.redis_keys
    )
    lock.assert_held()
    holders: tuple[quotalock.Holder, ...] = lock.inspect().holders
    print([holder.label for holder in holders], token == holders[0].token, lock.remaining > 50, lock.ttl)
handle: quotalock.Lock = client.lock_all(["a", b"b"], fair=True)
try:
    if handle.acquire(wait=1.5):
        handle.raise_floor(7)
finally:
    released: bool = handle.release()
freed: int = client.semaphore("pool", 3, weight=2).force_release()
for side in (client.read_lock("doc", renew=False), client.write_lock(b"doc", max_hold=60)):
    print(released, freed, side.acquire(), side.release())

existed: bool = per_user.reset("user:42")
if quotalock.limit("checkout", "user:42", "10/minute"):
    print("welcome")

quotalock.testing.set_time(client, 1_700_000_000_000_000)
late: quotalock.Decision = users.consume("43")
