-- Takes the TTL from a key again if it is the one that was given.
--
-- KEYS: the key. ARGV: when it was made to expire, in milliseconds since the epoch.
-- Reply: 1 if done, 0 if the key is gone, or expires at another time.
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  return 0
end
-- The command that tells the moment itself is younger than some servers.
local time = redis.call('TIME')
local expires = time[1] * 1000 + math.floor(time[2] / 1000) + ttl
if math.abs(expires - ARGV[1]) > 2 then
  return 0
end
return redis.call('PERSIST', KEYS[1])
