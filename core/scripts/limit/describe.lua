-- A reply that is remembered says all by itself, since the policy may change meanwhile.
-- Reply: {1, now, then for each decision: how many rules, cost, healed, block left, per rule: limit, wait, remaining,
-- reset_after}.
reply = {1, now, ALL_COUNT, cost, reply[3], blocked, ALL_DESCRIBED}
