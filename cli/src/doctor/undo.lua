-- Takes the TTL from a key again if it is the one that was given.
--
-- KEYS: the key. ARGV: when it was made to expire, in milliseconds since the epoch.
-- Reply: 1 if done, 0 if the key is gone, or expires at another time.
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  return 0
end
local expires, slack = redis.pcall('PEXPIRETIME', KEYS[1]), 0
if type(expires) == 'table' then
  -- Older than Redis 7.0: the clock may have gone on since the script began, by which the TTL counts.
  local time = redis.call('TIME')
  expires, slack = time[1] * 1000 + math.floor(time[2] / 1000) + ttl, 50
end
if math.abs(expires - ARGV[1]) > slack then
  return 0
end
return redis.call('PERSIST', KEYS[1])
