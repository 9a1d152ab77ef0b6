-- The usual cases of a claim, decided before anything else: an id of which nothing is known, and one with a short value.
-- KEYS, ARGV and reply as below. ARGV[7] for how long the entry of this claim is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
do
  local form, value = '<c3Bc16I7I7I2', ARGV[6]
  local piece = redis.call('GETRANGE', KEYS[1], '0', PIECE_END_TEXT)
  local length = #piece
  if length == 0 and #value <= HEADER + MOST_SHORT then
    local kind, ttl, payload = ARGV[5] + 0.0, ARGV[4] + 0.0, string.sub(value, HEADER + 1)
    redis.call('SET', KEYS[1], struct.pack(form, 'QC\1', SHORT + kind, ARGV[3], now, ttl, #payload) .. payload, 'PX', ARGV[7])
    return {struct.pack('<i8i8i8i8i8i8', 1, now, 1, kind, ttl, 0), payload}
  end
  if length >= SHORT_HEADER and length <= SHORT_HEADER + MOST_SHORT and string.byte(piece, 4) > SHORT then
    local mark, kind, owner, made, fresh, size = struct.unpack(form, piece)
    local left = made + fresh - now
    if mark == 'QC\1' and kind < SHORT + ERROR and size == length - SHORT_HEADER and made <= now and left > 0 and fresh < LONG then
      return {struct.pack('<i8i8i8i8i8i8', 1, now, owner == ARGV[3] and 1 or 0, kind - SHORT, left, now - made),
        string.sub(piece, SHORT_HEADER + 1)}
    end
  elseif length >= HEADER and length < PIECE then
    local mark, kind, owner, version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size =
      struct.unpack('<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8', piece)
    local left = made + fresh + stale - now
    if mark == 'QC\1' and kind ~= NOTHING and kind < ERROR and size == length - HEADER and made <= now and left > 0
      and deadline <= now and failed <= now and guard <= now + LONGEST_GUARD and version < EXACT and last < EXACT
      and fresh < LONG and stale < LONG and delta < LONG and ttl < LONG and pause < LONG then
      local claimed = deadline == 0 and owner == ARGV[3] and 1 or 0
      return {struct.pack('<i8i8i8i8i8i8', 1, now, claimed, kind, left, now - made), string.sub(piece, HEADER + 1)}
    end
  end
end
