-- Forgets an entry, and what is being loaded for it; tells who waits.
-- KEYS the entry, maybe its waiters.  ARGV[3] ttl of leases.  ARGV[4] what channels' names begin with.
-- Reply: {1, now, whether there was a value, whether it was being loaded}.
-- Invariant: no token given before stores anything after.
local e = load(KEYS[1])
local had = e.kind ~= NOTHING and e.kind ~= ERROR
local was_loaded = e.deadline > now
local token = next_token(e)
take_lease(e)
e.kind, e.version, e.last, e.failed, e.pause, e.size, e.whole = NOTHING, token, token, 0, 0, 0, true
-- Of an entry that was lost nobody knows what it gave.
e.guard = math.max(e.guard, now + GOOD * ARGV[3])
local told = wake(e, KEYS[2], ARGV[4])
save(e, nil, true)
if told then forget(KEYS[2]) end
return {1, now, had and 1 or 0, was_loaded and 1 or 0}
