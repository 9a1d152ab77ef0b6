-- Lists holds that are not over, in the order in which they end; never writes.
-- KEYS three.  ARGV[3] where to go on: an end, or ''.  ARGV[4] how many of that end to leave out.  ARGV[5] how many at most.
-- Reply: {1, now, where to go on or -1, how many of that end to leave out, then of each: member, until, number of prizes, the
-- prizes}.
local s = load(1, 'o')
if not s then return {1, now, -1, 0} end
local from, skip, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if not from or from <= s.now then from, skip = s.now + 1, 0 end
local found = redis.call('ZRANGEBYSCORE', KEYS[2], string.format('%.0f', from), '+inf', 'WITHSCORES', 'LIMIT', skip, most)
local reply = {1, now, -1, 0}
for i = 1, #found, 2 do
  local till = tonumber(found[i + 1])
  if till > from then from, skip = till, 0 end
  skip = skip + 1
  local list = {}
  if s.prized then list = unpacked(redis.call('HGET', KEYS[1], 'g' .. string.sub(found[i], 1, 16)) or '') end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = found[i], till - s.offset, #list
  for j, prize in ipairs(list) do reply[n + 3 + j] = prize end
end
if #found == 2 * most then reply[3], reply[4] = from, skip end
return reply
