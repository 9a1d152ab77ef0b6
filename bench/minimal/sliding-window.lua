-- A sliding counter as one writes it by hand: the least that could stand beside our consume script.
-- KEYS[1] the key.  ARGV limit, period in microseconds, cost.  Value: 'start:current:previous'.
-- Reply: {admitted, remaining, retry_after}. It heals nothing, knows no deadline, and has one rule; its products are
-- exact to 2^53 only.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local value = redis.call('GET', KEYS[1])
local limit, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local window, start, current, previous = now - now % period, 0, 0, 0
if value then
  start, current, previous = string.match(value, '^(%d+):(%d+):(%d+)$')
  start, current, previous = tonumber(start), tonumber(current), tonumber(previous)
end
if start < window then
  previous = start == window - period and current or 0
  start, current = window, 0
end
local left = window + period - now
local weight = math.ceil(previous * left / period)
if current + weight + cost > limit then
  return {0, limit - current - weight, left}
end
current = current + cost
redis.call('SET', KEYS[1], string.format('%.0f:%.0f:%.0f', start, current, previous), 'PX',
  math.ceil((left + period) / 1000))
return {1, limit - current - weight, 0}
