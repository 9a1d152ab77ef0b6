-- Reads the ledger; never writes.
-- KEYS three.  ARGV[3] the entry after which to begin, or ''.  ARGV[4] how many at most.
-- Reply: {1, now, then of each entry: its id, numbers and what was done, packed prizes or ''}.
local reply = {1, now}
for _, entry in ipairs(redis.call('XRANGE', KEYS[3], ARGV[3] == '' and '-' or '(' .. ARGV[3], '+', 'COUNT', ARGV[4])) do
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = entry[1], entry[2][2], entry[2][4] or ''
end
return reply
