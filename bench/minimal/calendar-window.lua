-- A calendar window as one writes it by hand: the least that could stand beside our consume script.
-- KEYS[1] the key.  ARGV limit, period in microseconds, cost.  Value: 'count:start'.
-- Reply: {admitted, remaining, reset_after}. It heals nothing, knows no deadline, and has one rule.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local value = redis.call('GET', KEYS[1])
local limit, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local current, count, start = now - now % period, 0, 0
if value then
  count, start = string.match(value, '^(%d+):(%d+)$')
  count, start = tonumber(count), tonumber(start)
end
if start < current then count, start = 0, current end
local reset = start + period - now
if count + cost > limit then return {0, limit - count, reset} end
count = count + cost
redis.call('SET', KEYS[1], string.format('%.0f:%.0f', count, start), 'PX', math.ceil(reset / 1000))
return {1, limit - count, reset}
