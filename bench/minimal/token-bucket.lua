-- GCRA as one writes it by hand: the least that could stand beside our consume script.
-- KEYS[1] the key.  ARGV emission interval and capacity times it in microseconds, cost.  Value: the arrival time.
-- Reply: {admitted, remaining, retry_after, reset_after}. It heals nothing, knows no deadline, and has one rule; an
-- interval that is no whole number of microseconds drifts.
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local interval, most, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tat = tonumber(redis.call('GET', KEYS[1]) or 0)
if tat < now then tat = now end
local after = tat + cost * interval
if after - now > most then
  return {0, math.floor((most - (tat - now)) / interval), after - most - now, tat - now}
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return {1, math.floor((most - (after - now)) / interval), 0, after - now}
