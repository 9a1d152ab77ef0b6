-- For tests: a key's raw value, '' if it is no string, and TTL.
-- KEYS[1] the key.  Reply: {1, now, PTTL (-2 no key, -1 no TTL), value}.
local ttl = redis.call('PTTL', KEYS[1])
if ttl == -2 then
  return {1, now, -2, ''}
end
local value = redis.pcall('GET', KEYS[1])
return {1, now, ttl, type(value) == 'string' and value or ''}
