-- Gives a key a TTL if it is still what was noted.
--
-- KEYS: the key. ARGV: when it shall expire, in milliseconds since the epoch; 'same', 'below' or 'above'; the value that was noted:
-- as DUMP writes it, or the number from which it may have been counted on.
-- Reply: 1 if done, 0 if the key is gone, has a TTL, or is another one.
if redis.call('PTTL', KEYS[1]) ~= -1 then
  return 0
end
local how, noted = ARGV[2], ARGV[3]
if how == 'same' then
  if redis.call('DUMP', KEYS[1]) ~= noted then
    return 0
  end
else
  if redis.call('TYPE', KEYS[1]).ok ~= 'string' then
    return 0
  end
  local value = redis.call('GETRANGE', KEYS[1], 0, 19)
  if not string.find(value, '^%-?%d+$') then
    return 0
  end
  local now, old = tonumber(value), tonumber(noted)
  if how == 'below' and now > old or how == 'above' and now < old then
    return 0
  end
end
return redis.call('PEXPIREAT', KEYS[1], ARGV[1])
