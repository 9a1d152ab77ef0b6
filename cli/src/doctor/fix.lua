-- Gives a key a TTL if it is still what was seen.
--
-- KEYS: the key. ARGV: when it shall expire, in milliseconds since the epoch; 'number', 'same' or 'type'; what was seen: nothing of
-- a number, which may have been counted on, else the first bytes of a text, or the type.
-- Reply: 1 if done, 0 if the key is gone, has a TTL, or is another one.
if redis.call('PTTL', KEYS[1]) ~= -1 then
  return 0
end
local kind, seen = ARGV[2], ARGV[3]
local type_now = redis.call('TYPE', KEYS[1]).ok
if kind == 'type' then
  if type_now ~= seen then
    return 0
  end
elseif type_now ~= 'string' then
  return 0
else
  local value = redis.call('GETRANGE', KEYS[1], 0, 1023)
  if kind == 'number' and not string.find(value, '^%-?%d+$') or kind == 'same' and value ~= seen then
    return 0
  end
end
return redis.call('PEXPIREAT', KEYS[1], ARGV[1])
