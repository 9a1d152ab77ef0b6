-- Takes permits of every table, or of none: then it may wait, in those that refuse, or in all if it waits in order.
-- KEYS the tables.  ARGV[3..] id, ttl, floor of the token, permits there are, weight, queue (0 no, 1 for a hint, 2 in
-- order), channel, what channels' names begin with, who, the holder to release first or '', for how long it has waited,
-- the token that it has elsewhere or 0.
-- Reply: {1, now, healed, outcome, released, ..}; outcome 0 refused: wait, place, who holds; 1 granted: token; 2 cancelled.
-- Invariant: the permits held are never more than there are; an id whose tombstone stands gets none; who waits in order is
-- overtaken by nobody whom it must wait for.
local id, ttl, floor, permits = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6] + 0.0
local weight, queue, channel, prefix = ARGV[7] + 0.0, ARGV[8] + 0.0, ARGV[9], ARGV[10]
local who, leaving, since, token = ARGV[11], ARGV[12], math.max(now - ARGV[13], 0), ARGV[14] + 0.0
local tables, fresh, recorded = load_all(leaving), math.max(now, floor + 1), 0
local outcome, owned, healed, released = GRANTED, true, 0, leaving ~= '' and 1 or 0
for _, t in ipairs(tables) do
  t.waits_at = find(t.waiters, id, WAITER)
  if t.waits_at then since = math.min(since, (struct.unpack('<I8', t.waiters, t.waits_at + 24))) end
end
local ordered = in_order(queue, since)
-- It stands in every table or only where it is refused: in some of them it could keep those out for whom it waits.
local stands = ordered and queue > 0
for _, t in ipairs(tables) do
  if t.foreign then healed = 1 end
  if not t.left then released = 0 end
  if find(t.tombstones, id, TOMBSTONE) then outcome = CANCELLED end
  fresh = math.max(fresh, t.last + 1)
  t.held_at = holding(t.holders, id)
  if t.held_at then
    recorded = math.max(recorded, (struct.unpack('<I8', t.holders, t.held_at + 32)))
  else
    -- The weight of those who go before it: whoever waits in order, or was told, before all but those of them before it.
    local turn = place(t.waiters, since, id)
    local first = ordered or t.waits_at and string.byte(t.waiters, t.waits_at + 36) > 1
    local earlier, ahead = (turn - 1) / WAITER, 0
    if t.waits_at and t.waits_at < turn then earlier = earlier - 1 end
    for at = 1, first and turn - 1 or #t.waiters, WAITER do
      local till, came, wanted, how = struct.unpack(WAITS, t.waiters, at + 16)
      if at ~= t.waits_at and (how > 1 or in_order(how, came)) then
        ahead, t.earliest = ahead + wanted, math.min(t.earliest, till)
      end
    end
    t.full = t.count >= MOST_HOLDERS or t.held + weight > permits
    t.refuses = t.full or t.held + ahead + weight > permits or leaving ~= '' and earlier > 0
    owned = false
    if t.refuses and outcome == GRANTED then outcome = REFUSED end
    if not t.waits_at and #t.waiters >= WAITER * MOST_WAITERS then stands = false end
  end
end
if owned and recorded > floor then token = recorded elseif token == 0 then token = fresh end
local wait, behind, holder = 0, 0, ''
if outcome == GRANTED then
  for _, t in ipairs(tables) do
    if t.waits_at then dismiss(t, t.waits_at) end
    if t.held_at then
      renew(t, t.held_at, ttl, token)
    else
      t.holders = t.holders .. id .. struct.pack(HOLDS, now + ttl, ttl, token, now, weight, #who) .. who
      t.held, t.latest = t.held + weight, math.max(t.latest, now + ttl)
    end
    t.last, t.changed = math.max(t.last, token), true
  end
elseif outcome == REFUSED then
  for _, t in ipairs(tables) do
    local waits = queue > 0 and (t.waits_at or #t.waiters < WAITER * MOST_WAITERS)
    if t.refuses then
      -- How long to wait, behind how many, and for whom.
      wait = math.max(wait, t.earliest < EXACT and t.earliest - now or HEARTBEAT)
      behind = math.max(behind, ((t.waits_at or #t.waiters + 1) - 1) / WAITER)
      if t.full and holder == '' and t.holders ~= '' then
        holder = string.sub(t.holders, HOLDER + 1, HOLDER + struct.unpack('<I2', t.holders, HOLDER - 1))
      end
    elseif not stands or t.held_at then
      -- Not this table refuses: those who wait in it need not wait for the others.
      if waits and t.waits_at then t.freed, t.changed = dismiss(t, t.waits_at), true end
      waits = false
    end
    if waits then
      if t.waits_at then dismiss(t, t.waits_at) end
      local at = place(t.waiters, since, id)
      t.waiters = string.sub(t.waiters, 1, at - 1) .. id .. struct.pack(WAITS, now + HEARTBEAT, since, weight, queue)
        .. channel .. string.sub(t.waiters, at)
      t.changed = true
    end
  end
end
for _, t in ipairs(tables) do
  local told = (t.freed or t.left) and wake(t, permits) or {}
  t.changed, t.freeing = t.changed or t.foreign or t.dirty, t.left
  publish(t, told, prefix)
end
save_all(tables)
if outcome == GRANTED then return {1, now, healed, outcome, released, token} end
if outcome == CANCELLED then return {1, now, healed, outcome, released} end
return {1, now, healed, outcome, released, wait, behind, holder}
