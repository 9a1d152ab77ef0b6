-- Adds units to an open sale, once for what it is remembered under.
-- KEYS three of the sale, then what it is remembered under.  ARGV[3] how many.  Then prizes.  ARGV, last: for how long it is
-- remembered.
-- Reply: {1, now, 1 added, 0 not open, 2 with prizes and should not or the other way round, 3 too many; all units there are}.
local n, s = ARGV[3] + 0.0, load(1, 'o')
redis.call('ZCARD', KEYS[2])
redis.call('XLEN', KEYS[3])
if not s then return {1, now, 0, 0} end
if s.due <= s.now then release(s, STEP) end
local quantity, outcome = s.available + s.held + s.sold, 1
if s.prized ~= (#ARGV > 4) then outcome = 2 elseif quantity + n > NEVER / 2 then outcome = 3 end
if outcome > 1 then
  if s.dirty then save(s) end
  return {1, now, outcome, quantity}
end
lay(s, s.first + s.available, ARGV, 4, #ARGV - 1)
s.available = s.available + n
append(s, 'r', string.rep('\0', 16) .. struct.pack('<I8', n))
save(s)
local reply = {1, now, 1, quantity + n}
remember(reply)
