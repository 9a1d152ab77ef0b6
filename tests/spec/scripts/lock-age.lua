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
local seconds = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
local aof = string.match(redis.call('INFO', 'persistence'), 'aof_enabled:(%d)')
return {1, now, tonumber(seconds) or 0, tonumber(aof) or 0}
