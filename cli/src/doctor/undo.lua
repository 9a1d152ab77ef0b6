-- Takes the TTL from a key again if it is the one that was given, or puts the key back if that TTL has ended.
--
-- KEYS: the key. ARGV: when it was made to expire, in milliseconds since the epoch; its value as DUMP wrote it, or nothing.
-- Reply: 1 if the TTL was taken, 2 if the key was put back, 3 if it is as it was noted, 0 if others deleted it, wrote it since, or
-- gave it another TTL.
local ttl = redis.call('PTTL', KEYS[1])
local expires, slack = redis.pcall('PEXPIRETIME', KEYS[1]), 0
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ttl == -2 then
  if ARGV[2] == '' or now < tonumber(ARGV[1]) then
    return 0
  end
  redis.call('RESTORE', KEYS[1], 0, ARGV[2])
  return 2
end
if ttl == -1 then
  return redis.call('DUMP', KEYS[1]) == ARGV[2] and 3 or 0
end
if type(expires) == 'table' then
  -- Older than Redis 7.0: the clock may have gone on since the script began, by which the TTL counts.
  expires, slack = now + ttl, 50
end
if math.abs(expires - ARGV[1]) > slack then
  return 0
end
return redis.call('PERSIST', KEYS[1])
