-- The usual case of a release, decided before anything else. Included after read_simple.
-- ARGV and reply as below. ARGV[7] for how long a table that nobody holds is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if simple and own and ARGV[4] == '0' then
  local rest, kept = string.sub(value, 1, own - 1), ARGV[7]
  if count > 1 then
    rest, kept = rest .. string.sub(value, behind_own), string.format('%d', TABLE_MEMORY + math.ceil((latest - now) / 1000))
  end
  -- A full server may refuse it: see below.
  local done = redis.pcall('SET', KEYS[1], rest, 'PX', kept)
  if not done.err then return struct.pack('<i8i8i8', 1, now, 1) end
end
