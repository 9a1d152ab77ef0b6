-- Stores a value if there is none and nobody is making one: who comes first has claimed it.
-- KEYS[1] the entry.  ARGV[3] id.  ARGV[4] how long the claim lasts in microseconds.  ARGV[5] kind.  ARGV[6] room for the header,
-- then the payload.
-- Reply: {1, now, whether the id has it, kind of what stands there, for how long still, age, payload}.
-- Invariant: of all ids one has the claim.
local id, e = ARGV[3], load(KEYS[1])
if e.kind ~= NOTHING and e.kind ~= ERROR then
  if e.dirty then save(e, nil, true) end
  -- Else the owner is one who loads, or did.
  local claimed = e.deadline == 0 and e.owner == id
  return {1, now, claimed and 1 or 0, e.kind, e.made + e.fresh + e.stale - now, now - e.made, payload(e)}
end
if e.deadline > now then
  if e.dirty then save(e, nil, true) end
  return {1, now, 0, NOTHING, e.deadline - now, 0, ''}
end
local ttl, token = ARGV[4] + 0.0, next_token(e)
take_lease(e)
e.owner, e.kind, e.version, e.last, e.made = id, ARGV[5] + 0.0, token, token, now
e.fresh, e.stale, e.failed, e.pause, e.size = ttl, 0, 0, 0, #ARGV[6] - HEADER
save(e, ARGV[6], false)
return {1, now, 1, e.kind, ttl, 0, string.sub(ARGV[6], HEADER + 1)}
