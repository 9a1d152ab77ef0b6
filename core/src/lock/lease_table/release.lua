-- Frees what an id holds, or takes it away from those who wait.
-- KEYS the tables.  ARGV[3] id.  ARGV[4] for how long an acquire that comes later is refused, in microseconds, or 0.
-- ARGV[5] permits there are.  ARGV[6] what channels' names begin with.
-- Reply: {1, now, whether it held in every table}.
-- Invariant: an id whose tombstone stands is granted nothing, however late its acquire arrives.
local id, cancel, permits, prefix = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6]
local held, tables = 1, load_all(id)
for _, t in ipairs(tables) do
  if not t.left then held = 0 end
  local changed, freed, waits_at = t.dirty or cancel > 0, t.left, find(t.waiters, id, WAITER)
  if waits_at then freed, changed = dismiss(t, waits_at) or freed, true end
  if cancel > 0 then
    local at = find(t.tombstones, id, TOMBSTONE)
    local first = not at and #t.tombstones >= TOMBSTONE * MOST_TOMBSTONES and 1 or at
    local rest = first and cut(t.tombstones, 1, #t.tombstones, {first, first + TOMBSTONE, ''}) or t.tombstones
    t.tombstones = rest .. id .. struct.pack('<I8', now + cancel)
  end
  local told = freed and wake(t, permits) or {}
  t.changed, t.freeing = changed, true
  t.told = told
end
save_all(tables)
-- What is free is free, also if the user may send no hints: those who wait look again by themselves.
for _, t in ipairs(tables) do publish(t, t.told, prefix) end
return {1, now, held}
