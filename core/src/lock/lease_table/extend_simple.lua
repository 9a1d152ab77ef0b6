-- The usual case of an extension, decided before anything else. Included after read_simple.
-- ARGV and reply as below. ARGV[5] for how long the table of the new lease is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if simple and own then
  local ttl, till, length = ARGV[4] + 0.0, struct.unpack('<I8I8', value, own + 16)
  if till <= now + ttl then
    local kept = ARGV[5]
    if length < ttl then length = ttl end
    if latest > now + ttl then kept = string.format('%d', TABLE_MEMORY + math.ceil((latest - now) / 1000)) end
    -- A full server may refuse it: see below.
    local done = redis.pcall('SET', KEYS[1], string.sub(value, 1, own + 15) .. struct.pack('<I8I8', now + ttl, length)
      .. string.sub(value, own + 32), 'PX', kept)
    if not done.err then return struct.pack('<i8i8i8', 1, now, 1) end
  end
end
