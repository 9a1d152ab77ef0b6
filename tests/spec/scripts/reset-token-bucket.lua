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
local value = redis.call('GET', KEYS[1])
if not value then
 return {1, now, 0}
end
local function check_format(bytes)
 local number, rest = string.byte(bytes, 7, 8)
 if rest and number + rest == 255 and number > 1 and string.sub(bytes, 1, 6) == '\255quota' then
  error('NEWERVERSION ' .. number, 0)
 end
end
check_format(value)
return {1, now, redis.call('DEL', KEYS[1])}
