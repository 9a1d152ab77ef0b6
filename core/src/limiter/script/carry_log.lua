-- Writes a state whose rules have no log, with the log that is kept for another policy: as it is, and where it is if it can be.
-- Included in finish: takes `head`, `tail` (block and holds) and `ttl`, as save_log does.
local start = #head + LOG_SIZE
head = head .. struct.pack('<BI8I8I8I8I8', LOG_RECORD, other_log.next, other_log.sum, other_log.last, other_log.room,
  start + ENTRY * other_log.room + #tail)
if start == other_log.base then
  --[direct]
  redis.call('SETRANGE', KEY, '0', '')
  redis.call('PEXPIRE', KEY, ttl)
  if tail ~= '' then redis.call('SETRANGE', KEY, start + ENTRY * other_log.room, tail) end
  redis.call('SETRANGE', KEY, '0', head)
  --[end]
  --[queued]
  expiries[#expiries + 1] = {KEY, ttl}
  if tail ~= '' then ranges[#ranges + 1] = {KEY, start + ENTRY * other_log.room, tail} end
  ranges[#ranges + 1] = {KEY, '0', head}
  --[end]
else
  head = head .. redis.call('GETRANGE', KEY, other_log.base, other_log.base + ENTRY * other_log.room - 1)
  --[direct]
  redis.call('SET', KEY, head .. tail, 'PX', ttl)
  --[end]
  --[queued]
  sets[#sets + 1] = {KEY, head .. tail, ttl}
  --[end]
end
