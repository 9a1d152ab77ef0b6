-- Lengthens every hold, or none.
-- KEYS three of each sale.  ARGV[3] for how long from now, in microseconds.  Then the members.
-- Reply: {1, now, whether all of them held}.
-- Invariant: a hold never becomes shorter, and one that is over never begins again.
local hold, loaded, items, all = ARGV[3] + 0.0, {}, {}, 1
for i = 1, #KEYS / 3 do
  local at, member = 3 * i - 2, ARGV[3 + i]
  -- Several reservations may be of one sale.
  local s = loaded[KEYS[at]] or load(at, 'o') or {}
  local till = tonumber(redis.call('ZSCORE', KEYS[at + 1], member) or 0)
  redis.call('XLEN', KEYS[at + 2])
  if not s.now or till <= s.now then all = 0 end
  loaded[KEYS[at]], items[i] = s, {sale = s, member = member, till = till}
end
local step = step_of(#KEYS / 3)
for _, item in ipairs(items) do
  local s = item.sale
  if s.now and s.due <= s.now then release(s, step) end
  if all == 1 and s.now + hold > item.till then
    s.latest = s.now + hold
    redis.call('ZADD', KEYS[s.at + 1], s.latest, item.member)
    append(s, 'e', item.member)
    save(s)
  elseif s.dirty then
    save(s)
  end
end
return {1, now, all}
