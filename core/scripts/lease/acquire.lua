-- Takes permits of every table, or of none: then it may wait in those that refuse.
-- KEYS the tables.  ARGV[3..] id, ttl, floor of the token, permits there are, weight, queue (0 no, 1 for a hint, 2 in
-- order), channel, what channels' names begin with, who, the holder to release first or ''.
-- Reply: {1, now, healed, outcome, released, ..}; outcome 0 refused: wait, place, who holds; 1 granted: token; 2 cancelled.
-- Invariant: the permits held are never more than there are; an id whose tombstone stands gets none.
local id, ttl, floor, permits = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local weight, queue, channel, prefix = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]
local who, leaving = ARGV[11], ARGV[12]
local tables, token, recorded = load_all(leaving), math.max(now, floor + 1), 0
local outcome, owned, healed, released = 1, true, 0, leaving ~= '' and 1 or 0
for _, t in ipairs(tables) do
  if t.foreign then healed = 1 end
  if not t.left then released = 0 end
  if find(t.tombstones, id, TOMBSTONE) then outcome = 2 end
  token = math.max(token, t.last + 1)
  t.held_at, t.waits_at = holding(t.holders, id), find(t.waiters, id, WAITER)
  if t.held_at then
    recorded = math.max(recorded, (struct.unpack('<I8', t.holders, t.held_at + 32)))
  else
    -- Whoever waits in order, or was told, goes before all but those of them before it.
    local others, ahead = #t.waiters / WAITER - (t.waits_at and 1 or 0), 0
    for at = 1, t.waits_at and string.byte(t.waiters, t.waits_at + 36) > 1 and t.waits_at - 1 or #t.waiters, WAITER do
      local till, _, wanted, how = struct.unpack('<I8I8I4B', t.waiters, at + 16)
      if how > 1 then ahead, t.earliest = ahead + wanted, math.min(t.earliest, till) end
    end
    t.full = t.count >= MOST or t.held + weight > permits
    t.refuses = t.full or t.held + ahead + weight > permits or leaving ~= '' and others > 0
    owned = false
    if t.refuses and outcome == 1 then outcome = 0 end
  end
end
if owned and recorded > floor then token = recorded end
local wait, place, holder = 0, 0, ''
for _, t in ipairs(tables) do
  local changed, freed = t.foreign or t.dirty, t.left
  if outcome == 1 then
    changed = true
    if t.waits_at then dismiss(t, t.waits_at) end
    if t.held_at then
      renew(t, t.held_at, ttl, token)
    else
      t.holders = t.holders .. struct.pack('<c16I8I8I8I8I4I2', id, now + ttl, ttl, token, now, weight, #who) .. who
      t.held, t.latest = t.held + weight, math.max(t.latest, now + ttl)
    end
    t.last = math.max(t.last, token)
  elseif outcome == 0 and t.refuses then
    wait = math.max(wait, t.earliest < EXACT and t.earliest - now or HEARTBEAT)
    place = math.max(place, t.waits_at and (t.waits_at - 1) / WAITER or #t.waiters / WAITER)
    if t.full and holder == '' and t.holders ~= '' then
      holder = string.sub(t.holders, 55, 54 + struct.unpack('<I2', t.holders, 53))
    end
    if queue > 0 and (t.waits_at or #t.waiters < WAITER * MOST) then
      local at = t.waits_at or #t.waiters + 1
      local since = t.waits_at and struct.unpack('<I8', t.waiters, at + 24) or now
      t.waiters = string.sub(t.waiters, 1, at - 1) .. struct.pack('<c16I8I8I4Bc16', id, now + HEARTBEAT, since, weight,
        queue, channel) .. string.sub(t.waiters, at + WAITER)
      changed = true
    end
  elseif outcome == 0 and queue > 0 and t.waits_at then
    -- Not this table refuses: those who wait in it need not wait for the others.
    freed, changed = dismiss(t, t.waits_at) or freed, true
  end
  local told = freed and wake(t, permits) or {}
  if changed then save(t, t.left) end
  publish(t, told, prefix)
end
if outcome == 1 then return {1, now, healed, 1, released, token} end
if outcome == 2 then return {1, now, healed, 2, released} end
return {1, now, healed, 0, released, wait, place, holder}
