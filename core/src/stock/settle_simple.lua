-- The usual case of a settlement, decided before anything else: one reservation that is held, of a sale without prizes in which no hold
-- is due. KEYS, ARGV and reply as below. The state: see form.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if #KEYS == 4 then
  local string, kind, member = string, ARGV[3], ARGV[5]
  local buyer = string.sub(member, 25)
  local got = redis.call('HMGET', KEYS[1], '', buyer)
  local value, had = got[1], got[2]
  if value and #value == SIZE then
    local mark, _, ends, retention, _, _, available, held, sold, entries, seen, offset, due, kept, buyers =
      struct.unpack('<c4I8I8I8I8I8I8I8I8I8I8i8I8I8I8', value)
    local n, time = struct.unpack('<I8', member, 17), now + offset
    local latest = ends > now and ends + offset or time
    -- Each 64th entry of the ledger trims it.
    if (mark == 'QS\1\0' or mark == 'QS\1\2') and time >= seen and due > time and held >= n and entries % 64 < 63
      and kept >= latest + retention / 2 then
      local count, till = tonumber(had), tonumber(redis.call('ZSCORE', KEYS[2], member))
      if till and till > time and count and string.format('%.0f', count) == had
        and not redis.call('GET', KEYS[4]) then
        -- Fails before anything is written if that key is of another type.
        redis.call('XLEN', KEYS[3])
        redis.call('ZREM', KEYS[2], member)
        held, entries = held - n, entries + 1
        if kind == 'c' then
          sold = sold + n
        else
          available, count = available + n, count - n
          if count < 1 then
            redis.call('HDEL', KEYS[1], buyer)
            buyers = buyers > 0 and buyers - 1 or 0
          end
        end
        local numbers = struct.pack('<I8I8I8I8I8i8', available, held, sold, entries, time, offset)
        redis.call('XADD', KEYS[3], '*', 'e', numbers .. kind .. member)
        value = struct.pack('<c44c48I8I8I8', value, numbers, due, kept, buyers)
        if kind == 'c' or count < 1 then
          redis.call('HSET', KEYS[1], '', value)
        else
          redis.call('HSET', KEYS[1], '', value, buyer, string.format('%.0f', count))
        end
        local memory = ARGV[4] + 0.0
        local ttl = math.ceil(memory / 1000) + 1
        if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
        redis.call('SET', KEYS[4], 'QD\1' .. struct.pack('<I8', now + memory) .. kind, 'PX', string.format('%d', ttl))
        return struct.pack('<i8i8i8', 1, now, 1)
      end
    end
  end
end
