-- A sliding log as one writes it by hand: the least that could stand beside our consume script.
-- KEYS[1] a sorted set.  ARGV limit, period in microseconds, cost (1).
-- Reply: {admitted, remaining, retry_after}. It heals nothing, knows no deadline and no cost but 1, and has one rule.
local now = redis.call('TIME')
local stamp = now[1] .. string.format('%06d', now[2])
now = tonumber(stamp)
local limit, period = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - period))
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, 0, first[2] + period - now}
end
redis.call('ZADD', KEYS[1], stamp, stamp)
redis.call('PEXPIRE', KEYS[1], math.ceil(period / 1000))
return {1, limit - count - 1, 0}
