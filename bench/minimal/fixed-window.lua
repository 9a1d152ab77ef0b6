-- A fixed window as one writes it by hand: the least that could stand beside our consume script.
-- KEYS[1] the key.  ARGV limit, period in microseconds, cost.  Value: 'count:stop'.
-- Reply: {admitted, remaining, reset_after}. It heals nothing, knows no deadline, and has one rule.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local value = redis.call('GET', KEYS[1])
local limit, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count, stop = 0, 0
if value then
  count, stop = string.match(value, '^(%d+):(%d+)$')
  count, stop = tonumber(count), tonumber(stop)
end
if stop <= now then count, stop = 0, now + period end
if count + cost > limit then return {0, limit - count, stop - now} end
count = count + cost
redis.call('SET', KEYS[1], string.format('%.0f:%.0f', count, stop), 'PX', math.ceil((stop - now) / 1000))
return {1, limit - count, stop - now}
