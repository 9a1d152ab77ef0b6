-- Looks at one page of keys without changing any, and answers those that may be stuck, and some that are ours.
--
-- ARGV: cursor, about how many keys, what the names of our keys begin with, and of how many of ours with a TTL one is read.
-- Reply: cursor, how many keys there were, how many may not be read, why, then of each answered key: its name; 's' for a
-- text, 'w' for a sorted set with Symfony's mark, 'o' for another type, 'v' for one of ours with a TTL; its first bytes.
local try, page = redis.pcall, redis.call('SCAN', ARGV[1], 'COUNT', ARGV[2])
local keys, prefix, stride = page[2], ARGV[3], tonumber(ARGV[4])
local size, refused, why, found, n = #prefix, 0, '', {}, 0
for i = 1, #keys do
  local key, kind, value = keys[i], nil, nil
  local ttl = try('PTTL', key)
  if ttl == -1 then
    value = try('GETRANGE', key, 0, 1023)
    kind = 's'
    if type(value) ~= 'string' then
      kind = type(try('ZSCORE', key, '__write__')) == 'string' and 'w' or 'o'
    end
  elseif type(ttl) == 'table' then
    refused = refused + 1
    why = ttl.err
  elseif i % stride == 0 and string.sub(key, 1, size) == prefix then
    value = try('GETRANGE', key, 0, 1023)
    kind = 'v'
  end
  if kind then
    if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
      refused = refused + 1
      why = value.err
    else
      found[n + 1] = key
      found[n + 2] = kind
      found[n + 3] = type(value) == 'string' and value or ''
      n = n + 3
    end
  end
end
return {page[1], #keys, refused, why, found}
