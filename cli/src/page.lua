-- Looks at one page of keys without changing any, and answers those that may be stuck, and some that are ours.
--
-- ARGV: cursor, about how many keys, what the names of our keys begin with, and of how many of ours with a TTL one is read.
-- Reply: cursor, how many keys there were, how many may not be read, why, then of each answered key: its name; 's' for a
-- text, 'w' for a sorted set with Symfony's mark, 'o' for another type; 'v' for a text of ours with a TTL, 't' for another
-- type of ours with one; its first bytes, the mark's score, or the type, with 'o' a newline and the first element of a list
-- or sorted set.
local try, page = redis.pcall, redis.call('SCAN', ARGV[1], 'COUNT', ARGV[2])
local keys, prefix, stride = page[2], ARGV[3], tonumber(ARGV[4])
local size, refused, why, found, n = #prefix, 0, '', {}, 0
local function text(value)
  return type(value) == 'string' and value or ''
end
for i = 1, #keys do
  local key, kind, value = keys[i], nil, nil
  local ttl = try('PTTL', key)
  if type(ttl) == 'table' then
    refused = refused + 1
    why = ttl.err
  elseif ttl == -1 then
    kind = 's'
  elseif i % stride == 0 and string.sub(key, 1, size) == prefix then
    kind = 'v'
  end
  if kind then
    value = try('GETRANGE', key, 0, 1023)
    if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
      refused = refused + 1
      why = value.err
      kind = nil
    elseif type(value) == 'table' and kind == 'v' then
      kind, value = 't', try('TYPE', key).ok
    elseif type(value) == 'table' then
      local told, mark = try('TYPE', key).ok, text(try('ZSCORE', key, '__write__'))
      kind, value = 'w', mark
      if mark == '' then
        local first = told == 'list' and try('LINDEX', key, 0) or told == 'zset' and try('ZRANGE', key, 0, 0)[1]
        kind, value = 'o', (told or '') .. '\n' .. string.sub(text(first), 1, 256)
      end
    end
  end
  if kind then
    found[n + 1] = key
    found[n + 2] = kind
    found[n + 3] = text(value)
    n = n + 3
  end
end
return {page[1], #keys, refused, why, found}
