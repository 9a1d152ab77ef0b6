-- Opens a sale, once.
-- KEYS three.  ARGV[3] id (c16) of the call.  ARGV[4] quantity.  ARGV[5] per_buyer, or 0.  ARGV[6] ends, or 0.  ARGV[7] retention,
-- in microseconds.  ARGV[8] cap of the ledger.  ARGV[9] what tells the list of prizes from others (c20).  Then the prizes.
-- Reply: {1, now, 1 it opened, 0 it is open with these, 2 it is open with others, 3 ends has passed; then of an open one
-- quantity, per_buyer, ends, whether it has these prizes}.
-- Invariant: an open sale is not changed.
local quantity, per_buyer, ends = ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6] + 0.0
local how = struct.pack('<I8I8I8c20', quantity, per_buyer, ends, ARGV[9])
local s = load(1, 'o')
redis.call('ZCARD', KEYS[2])
redis.call('XLEN', KEYS[3])
if s then
  if s.due <= s.now then release(s, STEP) end
  if s.dirty then save(s) end
  local opened = s.more and #s.more >= 44 and s.more or how
  local same, other_quantity, other_limit, other_end = string.sub(opened, 1, 44) == how, struct.unpack('<I8I8I8', opened)
  local prizes = string.sub(opened, 25, 44) == ARGV[9] and 1 or 0
  local outcome = not same and 2 or string.sub(opened, 45) == ARGV[3] and 1 or 0
  return {1, now, outcome, other_quantity, other_limit, other_end, prizes}
end
if ends > 0 and ends <= now then return {1, now, 3, quantity, per_buyer, ends, 0} end
-- First what a full server refuses, or an ACL.
check_rights()
redis.call('DEL', KEYS[1], KEYS[2])
local retention, cap, prized = ARGV[7] + 0.0, ARGV[8] + 0.0, #ARGV > 9
s = {
  at = 1, head = 'QS\1' .. struct.pack('<BI8I8I8I8', prized and 1 or 0, per_buyer, ends, retention, cap), ends = ends,
  retention = retention, cap = cap, available = quantity, held = 0, sold = 0, entries = 0, now = 0, offset = -now, due = NEVER,
  kept = 0, buyers = 0, first = 1, latest = 0, renew = true,
}
redis.call('HSET', KEYS[1], 'o', how .. ARGV[3])
lay(s, 1, ARGV, 10, #ARGV)
append(s, 'o', string.rep('\0', 16) .. struct.pack('<I8', quantity))
save(s)
return {1, now, 1, quantity, per_buyer, ends, 1}
