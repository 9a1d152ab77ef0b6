-- The prizes of a sale, packed one after the other: length (I4) and bytes. Included after form.
-- What does not read so was written by others, and is left out.
local function unpacked(packed)
  local list, at = {}, 1
  while at + 4 <= #packed and struct.unpack('<I4', packed, at) <= #packed - at - 3 do
    list[#list + 1], at = struct.unpack('<I4c0', packed, at)
  end
  return list
end
-- The field of a free one.
local function free(number) return string.format('p%.0f', number) end
-- Those at some places of a list become free, under the numbers from `n` on.
local function lay(s, n, list, from, to)
  for first = from, to, 1000 do
    local fields = {}
    for i = first, math.min(first + 999, to) do
      local at = 2 * (i - first)
      fields[at + 1], fields[at + 2] = free(n + i - from), list[i]
    end
    redis.call('HSET', KEYS[s.at], unpack(fields))
  end
end
-- The first free ones become those of a reservation.
local function draw(s, id, n)
  local fields, packed = {}, {}
  for i = 1, n do fields[i] = free(s.first + i - 1) end
  local drawn = redis.call('HMGET', KEYS[s.at], unpack(fields))
  for i = 1, n do packed[i] = struct.pack('<I4', #(drawn[i] or '')) .. (drawn[i] or '') end
  packed = table.concat(packed)
  redis.call('HSET', KEYS[s.at], 'g' .. id, packed)
  redis.call('HDEL', KEYS[s.at], unpack(fields))
  s.first = s.first + n
  return drawn, packed
end
-- The packed ones become free again, behind all others.
local function put_back(s, packed)
  local list = unpacked(packed)
  lay(s, s.first + s.available, list, 1, #list)
end
