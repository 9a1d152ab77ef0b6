-- Stores what was loaded under a token, unless something newer was stored or forgotten; ends the lease; tells who waits.
-- KEYS the entry, maybe its waiters.  ARGV[3] id.  ARGV[4] token, 0 for a value that is put and so is newer than all before it.
-- ARGV[5] ttl of leases.  ARGV[6] fresh, ARGV[7] stale, in microseconds.  ARGV[8] kind.  ARGV[9] what channels' names begin
-- with.  ARGV[10] room for the header, then the payload.
-- Reply: {1, now, whether it is stored}.
-- Invariant: the version only grows, and a token that its entry may have been forgotten since, or that an entry made anew
-- never gave, stores nothing.
local id, token, ttl, prefix = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[9]
local e, stored, written = load(KEYS[1]), 0, false
local put = token == 0
if put then
  token = next_token(e)
  e.last = token
  take_lease(e)
end
local ended = put or loads(e, id)
if ended then end_lease(e) end
if token == e.version then
  stored = 1
elseif token > e.version and (token <= e.last or e.last == 0) and now <= token + GOOD * ttl then
  stored, ended, written = 1, true, true
  e.kind, e.version, e.last, e.made = ARGV[8] + 0.0, token, math.max(e.last, token), now
  e.fresh, e.stale, e.failed, e.pause, e.size = ARGV[6] + 0.0, ARGV[7] + 0.0, 0, 0, #ARGV[10] - HEADER
  if not put then e.delta = math.min(math.max(now - token, 0), LONG - 1) end
end
local told = ended and wake(e, KEYS[2], prefix)
if written then save(e, ARGV[10], false) elseif ended or e.dirty then save(e, nil, true) end
if told then forget(KEYS[2]) end
return {1, now, stored}
