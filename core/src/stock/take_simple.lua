-- The take that nearly all are, of one sale: nothing is due, nothing is refused, no prizes. All else is for what follows.
-- Its head and invariant: see take. The state: see form. Included after the clock.
do
  local buyer, member = ARGV[3], ARGV[5]
  local got = redis.call('HMGET', KEYS[1], '', buyer)
  local value, had = got[1], tonumber(got[2])
  -- What is not ours counts as none.
  if had and (had < 0 or had % 1 ~= 0) then had = nil end
  if value and #value == SIZE then
    local kind, per_buyer, ends, retention, cap, _, available, held, sold, entries, seen, offset, due, kept, buyers =
      struct.unpack('<c4I8I8I8I8I8I8I8I8I8I8i8I8I8I8', value)
    local n, time = struct.unpack('<I8', member, 17), now + offset
    local till, count = time + ARGV[4], n
    if had then
      count = had + n
    else
      buyers = buyers + 1
      -- A text is cheaper to pass on than a number.
      if n == 1 then count = '1' end
    end
    if kind == 'QS\1\0' and time >= seen and due > time and held > 0 and n <= available and (ends == 0 or now < ends)
      and (per_buyer == 0 or (had or 0) + n <= per_buyer) and kept >= till + retention / 2
      and redis.call('ZADD', KEYS[2], 'NX', string.format('%d', till), member) == 1 then
      available, entries = available - n, entries + 1
      if till < due then due = till end
      local numbers, entry = struct.pack('<I8I8I8I8I8i8', available, held + n, sold, entries, time, offset), nil
      if entries % 64 > 0 then
        entry = redis.pcall('XADD', KEYS[3], '*', 'e', numbers .. 'h' .. member)
      else
        entry = redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', cap, '*', 'e', numbers .. 'h' .. member)
      end
      if entry.err then
        -- A key of another type, or a right that lacks: nothing is half done.
        redis.call('ZREM', KEYS[2], member)
        if string.find(entry.err, 'run this command') then entry.err = entry.err .. ": run the 'XADD' command" end
        return entry
      end
      redis.call('HSET', KEYS[1], '', struct.pack('<c44c48I8I8I8', value, numbers, due, kept, buyers), buyer, count)
      return struct.pack('<i8i8i8i8i8i8i8', 1, now, 0, 0, available, till - offset, 0)
    end
  end
end
