-- Ends a sale for good, whatever the clock does; what is held can be sold still.
-- KEYS three.  ARGV[3] id (c16) of the call.
-- Reply: {1, now, 1 it ended, 0 it had ended before, 2 it is not open}.
-- Invariant: no unit moves, and whatever the clock does nothing is taken any more. The sale is kept for `retention` from now, or
-- from the end of its last hold.
local s = load(1, 'c')
local function close(ends)
  s.head = 'QS\1' .. struct.pack('<BI8I8I8I8', s.prized and 3 or 2, s.per_buyer, ends, s.retention, s.cap)
  -- First what also a full server does: after that it does the rest.
  redis.call('HDEL', KEYS[1], 'c')
end
redis.call('ZCARD', KEYS[2])
redis.call('XLEN', KEYS[3])
if not s then return {1, now, 2} end
if s.due <= s.now then release(s, STEP) end
if s.ended then
  if not s.closed then
    close(s.ends)
    s.dirty = true
  end
  if s.dirty then save(s) end
  return {1, now, s.more == ARGV[3] and 1 or 0}
end
-- No hold is longer than 30 days; what others put there may seem to be.
local last = math.min(tonumber(redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or 0), s.now + 2592000000000)
close(now)
s.ends, s.kept, s.latest = now, 0, math.max(s.now, last)
redis.call('HSET', KEYS[1], 'c', ARGV[3])
append(s, 'l', string.rep('\0', 16) .. struct.pack('<I8', 0))
save(s)
return {1, now, 1}
