-- For tests: replaces a key by a raw value without a TTL, or takes its TTL away.
-- KEYS[1] the key.  ARGV[3] 'string', 'list' or 'persist'.  ARGV[4] the value.
-- Reply: {1, now, 1}.
if ARGV[3] == 'persist' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('DEL', KEYS[1])
  if ARGV[3] == 'list' then
    redis.call('RPUSH', KEYS[1], ARGV[4])
  else
    redis.call('SET', KEYS[1], ARGV[4])
  end
end
return {1, now, 1}
