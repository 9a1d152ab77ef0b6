-- The usual case of a release, decided before anything else. Included after own_lease.
-- ARGV and reply as below. ARGV[7] for how long a table that nobody holds is kept, in milliseconds.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if own and ARGV[4] == '0' then
  -- A full server may refuse it: see below.
  local done = redis.pcall('SET', KEYS[1], string.sub(own, 1, HEAD), 'PX', ARGV[7])
  if not done.err then return {1, now, 1} end
end
