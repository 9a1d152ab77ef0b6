-- The usual case of what the holder of a lease asks for: one table that this id alone holds, and in which nobody waits.
-- KEYS, ARGV[3] as below. `own` is the value of that table, whose lease ends at `own_until` and was `own_length` long; else all are nil.
local own, own_until, own_length
if #KEYS == 1 then
  local string, value = string, redis.call('GET', KEYS[1])
  if value and #value >= HEAD + HOLDER and string.sub(value, 18, 33) == ARGV[3] then
    local q, k, one, last, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
    local till, ttl, token, since, _, who = struct.unpack('<I8I8I8I8I4I2', value, 34)
    if q == 81 and k == 75 and one == 1 and last < EXACT and tombstones + waiters == 0 and #value == HEAD + HOLDER + who
      and till > now and till <= now + ttl and till < EXACT and ttl < EXACT and token < EXACT and since <= now then
      own, own_until, own_length = value, till, ttl
    end
  end
end
