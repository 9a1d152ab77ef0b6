-- What many shops run: one script that counts, and sets the time to live with the first call.
-- KEYS[1] the key.  ARGV limit, period in milliseconds.  Reply: 1 admitted, 0 denied; never how long to wait.
-- A key without a time to live blocks for ever.
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
