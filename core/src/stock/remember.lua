-- Remembers the reply to a request that took something; one that was refused may be decided anew. Included after recall.
local function remember(fields)
  local ttl, packed = math.ceil(remembered_for / 1000) + 1, {}
  if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
  for i = 3, #fields do
    local field = fields[i]
    packed[i - 2] = type(field) == 'string' and struct.pack('<I4', #field) .. field or struct.pack('<I8', field)
    packed[i - 2] = (type(field) == 'string' and 's' or 'n') .. packed[i - 2]
  end
  redis.call('SET', KEYS[#KEYS], 'QT\1' .. struct.pack('<I8', now + remembered_for) .. table.concat(packed), 'PX', ttl)
end
