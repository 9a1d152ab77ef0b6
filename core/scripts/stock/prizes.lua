-- The prizes of a sale, packed one after the other: length (I4) and bytes. Included after form.
-- The first free ones become those of a reservation.
local function draw(s, id, n)
  local fields, packed = {}, {}
  for i = 1, n do fields[i] = 'p' .. s.first + i - 1 end
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
  local at, n = 1, s.first + s.available
  while at <= #packed do
    local prize
    prize, at = struct.unpack('<I4c0', packed, at)
    redis.call('HSET', KEYS[s.at], 'p' .. n, prize)
    n = n + 1
  end
end
local function unpacked(packed)
  local list, at = {}, 1
  while at <= #packed do list[#list + 1], at = struct.unpack('<I4c0', packed, at) end
  return list
end
