-- Tells how long the server has been up, and whether it keeps what it was told over a restart.
-- KEYS the lock's, for the cluster's sake.  Reply: {1, now, seconds, 1 if the append-only file is on}.
local seconds = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
local aof = string.match(redis.call('INFO', 'persistence'), 'aof_enabled:(%d)')
return {1, now, tonumber(seconds) or 0, tonumber(aof) or 0}
