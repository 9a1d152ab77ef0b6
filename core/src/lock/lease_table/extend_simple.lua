-- The usual case of an extension, decided before anything else. Included after own_lease.
-- ARGV and reply as below. ARGV[5] for how long the table of the new lease is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if own and own_until <= now + ARGV[4] then
  local string, ttl, length = string, ARGV[4] + 0.0, own_length
  if length < ttl then length = ttl end
  -- A full server may refuse it: see below.
  local done = redis.pcall('SET', KEYS[1], string.sub(own, 1, 33) .. struct.pack('<I8I8', now + ttl, length)
    .. string.sub(own, 50), 'PX', ARGV[5])
  if not done.err then return {1, now, 1} end
end
