-- Lengthens a lease in every table, or in none.
-- KEYS the tables.  ARGV[3] id.  ARGV[4] ttl in microseconds, from now.
-- Reply: {1, now, whether it held in every table}.
-- Invariant: a lease never becomes shorter, and one that is over never begins again.
local id, ttl, held = ARGV[3], ARGV[4] + 0.0, 1
local tables = load_all('')
for _, t in ipairs(tables) do
  t.held_at = holding(t.holders, id)
  if not t.held_at then held = 0 end
end
for _, t in ipairs(tables) do
  if held == 1 then renew(t, t.held_at, ttl) end
  t.changed, t.freeing = held == 1 or t.dirty, true
end
save_all(tables)
return {1, now, held}
