-- The usual cases of an acquire, decided before anything else: one table in which nobody waits, and which is free or held by one.
-- KEYS, ARGV and reply as below. ARGV[15] for how long the table of this lease is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if #KEYS == 1 and ARGV[12] == '' then
  local string, key = string, KEYS[1]
  local value = redis.call('GET', key)
  local size, last = HEAD, 0
  if value then
    size, last = 0, EXACT
    if #value >= HEAD then
      local q, k, one, before, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
      if q == 81 and k == 75 and one == 1 and tombstones + waiters == 0 then size, last = #value, before end
    end
  end
  if last < EXACT and size == HEAD then
    local ttl, floor, weight, token, who = ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[7] + 0.0, ARGV[14] + 0.0, ARGV[11]
    if weight <= ARGV[6] + 0.0 then
      if token == 0 then
        token = now
        if token <= floor then token = floor + 1 end
        if token <= last then token = last + 1 end
      end
      if token > last then last = token end
      redis.call('SET', key, struct.pack('<c3I8I4I2c16I8I8I8I8I4I2', 'QK\1', last, 0, 0, ARGV[3],
        now + ttl, ttl, token, now, weight, #who) .. who, 'PX', ARGV[15])
      return {1, now, 0, GRANTED, 0, token}
    end
  elseif last < EXACT and size >= HEAD + HOLDER and ARGV[8] == '0' and string.sub(value, 18, 33) ~= ARGV[3] then
    local deadline, ttl, token, since, held, who = struct.unpack('<I8I8I8I8I4I2', value, 34)
    if size == HEAD + HOLDER + who and deadline > now and deadline < EXACT and deadline <= now + ttl and since <= now
      and ttl < EXACT and token < EXACT and held + ARGV[7] > ARGV[6] + 0.0 then
      return {1, now, 0, REFUSED, 0, deadline - now, 0, string.sub(value, HEAD + HOLDER + 1)}
    end
  end
end
