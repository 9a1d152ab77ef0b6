-- Passes a lease on: its holder gets another id and another who, in every table or in none.
-- KEYS the tables.  ARGV[3] the id that it has.  ARGV[4] the id that it gets.  ARGV[5] ttl in microseconds, from now.
-- ARGV[6] who it is from now on.  ARGV[7] 1 if it ends then even if that is sooner.
-- Reply: {1, now, whether it held in every table, its token, or 0}.
-- Invariant: of all that know an id, one gets the lease; its token stays, and it becomes shorter only if asked to.
local id, heir, ttl, who, held, token = ARGV[3], ARGV[4], ARGV[5] + 0.0, ARGV[6], 1, 0
local tables = load_all('')
for _, t in ipairs(tables) do
  -- A call that was sent twice finds its own id.
  t.held_at = holding(t.holders, id) or holding(t.holders, heir)
  if t.held_at then
    token = math.max(token, (struct.unpack('<I8', t.holders, t.held_at + 32)))
  else
    held = 0
  end
end
for _, t in ipairs(tables) do
  if held == 1 then
    local at = t.held_at
    if ARGV[7] == '1' then
      -- What a renewal takes the larger of.
      t.holders = string.sub(t.holders, 1, at + 15) .. struct.pack('<I8I8', 0, 0) .. string.sub(t.holders, at + 32)
    end
    renew(t, at, ttl)
    local behind = at + HOLDER + struct.unpack('<I2', t.holders, at + 52)
    t.holders = string.sub(t.holders, 1, at - 1) .. heir .. string.sub(t.holders, at + 16, at + 51)
      .. struct.pack('<I2', #who) .. who .. string.sub(t.holders, behind)
  end
  t.changed, t.freeing = held == 1 or t.dirty, true
end
save_all(tables)
return {1, now, held, held * token}
