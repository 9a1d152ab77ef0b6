--!df flags=legacy-float
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
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', math.max(now / 1000 - 86400000, 0)))
redis.call('PEXPIRE', KEYS[1], 86400000)
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 10000, '*', unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], 86400000)
return {1, now, 1}
