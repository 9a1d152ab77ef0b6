-- Forgets everything about a key, a block included.
-- KEYS[1] the key.  Reply: {1, now, 1 if there was anything}.
-- GET first: it refuses a key of another type, which is not ours to delete.
if not redis.call('GET', KEY) then
  return {1, now, 0}
end
return {1, now, redis.call('DEL', KEY)}
