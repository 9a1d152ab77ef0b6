"""Three lines in Python: at most ten checkouts a minute for each user. Redis: QUOTALOCK_URL."""

import quotalock

checkout = quotalock.Client().limiter("checkout", "10/minute;100/hour")
decision = checkout.consume("user:42")
print(f"go ahead, {decision.remaining} left" if decision else f"retry in {decision.retry_after} s")

# Or in one line, where only the answer matters.
if quotalock.limit("checkout", "user:42", "10/minute;100/hour"):
    print("and again")
