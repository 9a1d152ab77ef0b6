-- The head of every script: the server's clock, read once, and the refusal of a call whose caller gave up.
-- ARGV[1] now in microseconds: '' for TIME, a number in tests only.  ARGV[2] deadline in server time, '' for none.
-- Reply when refused: {0, now}; nothing was read or written. Every other reply starts with {1, now}.
-- Locals are found faster than globals.
local ARGV, redis, struct = ARGV, redis, struct
local virtual, now = ARGV[1] ~= '', nil
if virtual then
  now = ARGV[1] + 0.0
else
  local time = redis.call('TIME')
  now = time[1] * 1e6 + time[2]
end
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then
  return {0, now}
end
