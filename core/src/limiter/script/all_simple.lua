-- The usual cases of several charges: each of them is a usual case of a consume by one rule without a log, and its denial counts.
-- KEYS, ARGV and reply: see all. If one is denied, all are looked at once more, since none is charged.
-- Invariant: as of consume_simple.
do
  local usual, denied, answer, place, values, headings, states, ttls = true, false, nil, 4, {}, {}, {}, {}
  for n = 1, #KEYS do values[n] = redis.call('GETRANGE', KEYS[n], '0', PREFIX_END_TEXT) end
  for pass = 1, 2 do
    answer, place = struct.pack('<i8i8', 1, now), 4
    for n = 1, #KEYS do
      local form, at, value, look, wait, left, reset, bytes, ttl = ARGV[place], place + 2, values[n], pass == 2, nil, 0, 0, nil, nil
      local cost, counts = ARGV[at] + 0.0, ARGV[place + 1]
      --( forms
      if not wait or counts ~= '1' then
        usual = false
        break
      end
      denied = denied or wait > 0
      headings[n], states[n], ttls[n] = ARGV[at + 1], bytes, ttl
      answer = answer .. struct.pack('<i8i8i8i8i8', 0, 0, wait, left, reset)
    end
    if not usual or not denied then break end
  end
  if usual then
    for n = 1, denied and 0 or #KEYS do
      if ttls[n] then
        redis.call('SET', KEYS[n], headings[n] .. states[n], 'PX', string.format('%d', ttls[n]))
      else
        redis.call('SET', KEYS[n], headings[n] .. states[n], 'KEEPTTL')
      end
    end
    return answer
  end
end
