-- Remembers the reply to a request that was charged; a denied one may be decided anew.
if charged then
  local ttl = math.ceil(memory / 1000) + 1
  if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
  local answer = struct.pack('<I8' .. string.rep('i8', #reply - 2), now + memory, unpack(reply, 3))
  sets[#sets + 1] = {KEYS[#KEYS], 'QR\1' .. answer, ttl}
end
