-- Finds out whether the user may call all that writes a sale, before any of it is written. Included after load.
-- Invariant: a user who may not call one of the commands is refused while nothing has changed: here each is called so that it
-- changes nothing, but for XADD, which every change begins with.
local checked = false
-- If it is `freeing`, first what also a full server does: after that it does the rest.
local function check(s, freeing)
  if checked then return end
  local hash, holds, ledger = KEYS[s.at], KEYS[s.at + 1], KEYS[s.at + 2]
  checked = true
  if freeing then redis.call('HDEL', hash, '-') end
  redis.call('HSET', hash, '', s.value)
  if not freeing then redis.call('HDEL', hash, '-') end
  redis.call('HGET', hash, '-')
  redis.call('ZADD', holds, 'XX', 0, '')
  redis.call('ZREM', holds, '')
  redis.call('XTRIM', ledger, 'MAXLEN', '~', NEVER)
  redis.call('SET', hash, '', 'NX')
  if s.kept > s.now then redis.call('PEXPIRE', hash, math.ceil((s.kept - s.now) / 1000)) end
end
