-- The usual cases of an acquire, decided before anything else. Included after read_simple.
-- KEYS, ARGV and reply as below. ARGV[15] for how long the table of this lease is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if simple and ARGV[12] == '' then
  local ttl, floor, weight, token = ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[7] + 0.0, ARGV[14] + 0.0
  local full = count >= MOST_HOLDERS or held + weight > ARGV[6] + 0.0
  local recorded = own and struct.unpack('<I8', value, own + 32) or 0
  if recorded > floor then
    token = recorded
  elseif token == 0 then
    token = now
    if token <= floor then token = floor + 1 end
    if token <= last then token = last + 1 end
  end
  if own or not full then
    local holders, kept = nil, ARGV[15]
    if token > last then last = token end
    if own then
      local till, length = struct.unpack('<I8I8', value, own + 16)
      if till < now + ttl then till = now + ttl end
      if length < ttl then length = ttl end
      if till > now + ttl and till > latest then latest = till end
      holders = string.sub(value, HEAD + 1, own + 15) .. struct.pack('<I8I8I8', till, length, token)
        .. string.sub(value, own + 40)
    else
      local who = ARGV[11]
      holders = struct.pack('<c16I8I8I8I8I4I2', ARGV[3], now + ttl, ttl, token, now, weight, #who) .. who
      if count > 0 then holders = string.sub(value, HEAD + 1) .. holders end
    end
    if latest > now + ttl then kept = string.format('%d', TABLE_MEMORY + math.ceil((latest - now) / 1000)) end
    redis.call('SET', KEYS[1], struct.pack('<c3I8I4I2', 'QK\1', last, 0, 0) .. holders, 'PX', kept)
    return struct.pack('<i8i8i8i8i8i8', 1, now, 0, GRANTED, 0, token)
  elseif count > 0 and ARGV[8] == '0' then
    return {struct.pack('<i8i8i8i8i8i8i8', 1, now, 0, REFUSED, 0, earliest - now, 0),
      string.sub(value, HEAD + HOLDER + 1, HEAD + HOLDER + first)}
  end
end
