-- Lengthens the lease of the holder at a place of a table; it never becomes shorter. Included after codec.
-- What is not given stays: the token.
local function renew(t, at, ttl, token)
  local deadline, length, before = struct.unpack('<I8I8I8', t.holders, at + 16)
  deadline, length = math.max(deadline, now + ttl), math.max(length, ttl)
  t.holders = string.sub(t.holders, 1, at + 15) .. struct.pack('<I8I8I8', deadline, length, token or before)
    .. string.sub(t.holders, at + 40)
  t.latest = math.max(t.latest, deadline)
end
