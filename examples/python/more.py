"""What else a limiter can do, here for a service that sells tokens of a language model. Redis: QUOTALOCK_URL."""

import quotalock

client = quotalock.Client()

# Several keys, charged all or none in one round trip; with an id a request that is sent again is charged once. What is
# charged together has a common scope: in a cluster that puts it into one slot.
calls = client.limiter("calls", "10/minute", scope="team:blue")
team = client.limiter("team", "100/minute", scope="team:blue")
for _ in range(2):
    both = client.consume_all([(calls, "user:42"), (team, "all", 5)], request_id="request-7")
    print("go ahead," if both else f"retry in {both.retry_after} s,", [d.remaining for d in both.decisions], "left")

# An estimate that is held until the real amount is known, or half a minute has passed.
tokens = client.limiter("tokens", "token-bucket 1000/minute")
reservation = tokens.reserve("team:blue", estimate=800, ttl=30, unsettled="returned")
if reservation:
    # Any process that knows the key and the id can settle it.
    tokens.reservation("team:blue", reservation.id).settle(310)
    print("310 tokens in place of 800")

# As many as there are.
mails = client.limiter("mails", "100/hour")
print("sending", mails.consume_up_to("team:blue", 250).cost, "of 250 mails")

# A policy on trial: everything passes, and what it would deny is marked.
trial = client.limiter("trial", "1/minute", enforce=False)
print([trial.consume("user:42").would_deny for _ in range(2)])
