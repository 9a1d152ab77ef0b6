-- For tests: a key's raw value and TTL.
-- KEYS[1] the key.  Reply: {1, now, PTTL (-2 no key, -1 no TTL), value}.
local ttl = redis.call('PTTL', KEYS[1])
if ttl == -2 then
  return {1, now, -2, ''}
end
return {1, now, ttl, redis.call('GET', KEYS[1])}
