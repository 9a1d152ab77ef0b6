-- The usual case of a look, decided before anything else: one entry with a short value that is fresh, and that nobody loads.
-- KEYS, ARGV and reply as below.
-- Invariant: it answers what would be answered below, or does nothing; it writes nothing.
if #ARGV == 6 then
  local piece = redis.call('GETRANGE', KEYS[1], '0', PIECE_END_TEXT)
  local length = #piece
  if length >= SHORT_HEADER and length <= SHORT_HEADER + MOST_SHORT and string.byte(piece, 4) > SHORT then
    local mark, kind, _, made, fresh, size = struct.unpack('<c3Bc16I7I7I2', piece)
    if mark == 'QC\1' and kind < SHORT + ERROR and size == length - SHORT_HEADER and made <= now and made + fresh > now
      and fresh < LONG then
      return {struct.pack('<i8i8i8i8i8i8i8i8', 1, now, NO_DUTY, 0, 0, kind - SHORT, 0, now - made),
        string.sub(piece, SHORT_HEADER + 1)}
    end
  elseif length >= HEADER and length < PIECE then
    local mark, kind, _, version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size =
      struct.unpack('<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8', piece)
    local left = made + fresh - now
    if mark == 'QC\1' and kind ~= NOTHING and kind < ERROR and size == length - HEADER and made <= now and left > 0
      and deadline <= now and failed <= now and guard <= now + LONGEST_GUARD and version < EXACT and last < EXACT
      and fresh < LONG and stale < LONG and delta < LONG and ttl < LONG and pause < LONG
      and (delta < LONGEST_DELTA and delta or LONGEST_DELTA) * ARGV[6] < 1000 * left then
      return {struct.pack('<i8i8i8i8i8i8i8i8', 1, now, NO_DUTY, 0, 0, kind, 0, now - made), string.sub(piece, HEADER + 1)}
    end
  end
end
