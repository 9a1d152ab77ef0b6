-- What becomes of units whose holds somebody deleted. Included after save and prizes.
-- Makes all that is held available again, when nobody holds it; whose it was, nobody knows.
local function give_back_lost(s)
  local n, cursor, found, given = s.held, s.prized and '0', nil, {}
  while cursor do
    cursor, found = unpack(redis.call('HSCAN', KEYS[s.at], cursor, 'MATCH', 'g*', 'COUNT', 1000))
    -- A field may come twice.
    for i = 1, #found, 2 do given[found[i]] = found[i + 1] end
    cursor = cursor ~= '0' and cursor
  end
  local packed = {}
  for field, prizes in pairs(given) do
    redis.call('HDEL', KEYS[s.at], field)
    packed[#packed + 1] = prizes
  end
  put_back(s, table.concat(packed))
  s.available, s.held = s.available + n, 0
  append(s, 'x', string.rep('\0', 16) .. struct.pack('<I8', n))
end
