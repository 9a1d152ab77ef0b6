-- Lists holds that are not over, in the order in which they end, as many as their prizes allow; never writes.
-- KEYS three.  ARGV[3] when the last hold that was listed ends, or ''.  ARGV[4] its member.  ARGV[5] how many at most.
-- Reply: {1, now, when the last of these ends if there may be more, else -1, then of each: member, until, number of prizes, the
-- prizes}.
local s = load(1, 'o')
if not s then return {1, now, -1} end
local from, most, at, found = tonumber(ARGV[3]) or 0, tonumber(ARGV[5]), nil, nil
if from > s.now and tonumber(redis.call('ZSCORE', KEYS[2], ARGV[4]) or 0) == from then
  at = redis.call('ZRANK', KEYS[2], ARGV[4]) + 1
  found = redis.call('ZRANGE', KEYS[2], at, at + most - 1, 'WITHSCORES')
else
  -- The last one is gone, or ends at another time: nothing that ends with it is left out.
  from = string.format('%.0f', math.max(from, s.now + 1))
  found = redis.call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
end
local reply, prizes = {1, now, -1}, 0
for i = 1, #found, 2 do
  local till, list = tonumber(found[i + 1]), {}
  -- What others put there is no hold.
  if units_of(found[i]) and till < NEVER then
    if s.prized then list = unpacked(redis.call('HGET', KEYS[1], 'g' .. string.sub(found[i], 1, 16)) or '') end
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = found[i], till - s.offset, #list
    for j, prize in ipairs(list) do reply[n + 3 + j] = prize end
    prizes = prizes + #list
    if i + 1 == 2 * most or prizes >= PRIZES and i + 1 < #found then
      reply[3] = till
      break
    end
  end
end
return reply
