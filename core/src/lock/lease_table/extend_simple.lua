-- The usual case of an extension, decided before anything else: one table that this id alone holds, and in which nobody waits.
-- KEYS, ARGV and reply as below. ARGV[5] for how long the table of the new lease is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if #KEYS == 1 then
  local string, key = string, KEYS[1]
  local value = redis.call('GET', key)
  if value and #value >= HEAD + HOLDER and string.sub(value, 18, 33) == ARGV[3] then
    local q, k, one, last, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
    local deadline, length, token, since, _, who = struct.unpack('<I8I8I8I8I4I2', value, 34)
    local ttl = ARGV[4] + 0.0
    local till = now + ttl
    if q == 81 and k == 75 and one == 1 and last < EXACT and tombstones + waiters == 0 and #value == HEAD + HOLDER + who
      and deadline > now and deadline <= now + length and deadline <= till and deadline < EXACT and token < EXACT
      and length < EXACT and since <= now then
      if length < ttl then length = ttl end
      -- A full server may refuse it: see below.
      local done = redis.pcall('SET', key, string.sub(value, 1, 33) .. struct.pack('<I8I8', till, length)
        .. string.sub(value, 50), 'PX', ARGV[5])
      if not done.err then return {1, now, 1} end
    end
  end
end
