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
existed: bool = per_user.reset("user:42")
if quotalock.limit("checkout", "user:42", "10/minute"):
    print("welcome")
