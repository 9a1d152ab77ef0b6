-- Forgets everything about a key, a block included.
-- KEYS[1] the key.  Reply: {1, now, 1 if there was anything}.
-- GET first: it refuses a key of another type, which is not ours to delete, nor is what a newer version wrote.
local value = redis.call('GET', KEY)
if not value then
  return {1, now, 0}
end
--@ format
check_format(value)
return {1, now, redis.call('DEL', KEY)}
