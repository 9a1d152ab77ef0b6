-- The usual case of a release, decided before anything else: one table that this id alone holds, and in which nobody waits.
-- KEYS, ARGV and reply as below. ARGV[7] for how long a table that nobody holds is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if #KEYS == 1 and ARGV[4] == '0' then
  local string, key = string, KEYS[1]
  local value = redis.call('GET', key)
  if value and #value >= HEAD + HOLDER and string.sub(value, 18, 33) == ARGV[3] then
    local q, k, one, last, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
    local deadline, ttl, token, since, _, who = struct.unpack('<I8I8I8I8I4I2', value, 34)
    if q == 81 and k == 75 and one == 1 and last < EXACT and tombstones + waiters == 0 and #value == HEAD + HOLDER + who
      and deadline > now and deadline <= now + ttl and deadline < EXACT and token < EXACT
      and ttl < EXACT and since < EXACT then
      -- A full server may refuse it: see below.
      local done = redis.pcall('SET', key, string.sub(value, 1, HEAD), 'PX', ARGV[7])
      if not done.err then return {1, now, 1} end
    end
  end
end
