-- Reads the state of a limiter's key: only what stands before the log, which may be long. Included after the clock.
--[looped]
--@ rules
--[end]
local value
--[log]
value = redis.call('GETRANGE', KEY, '0', ALL_END)
--[end]
--[plain]
value = redis.call('GETRANGE', KEY, '0', PREFIX_END_TEXT)
--[end]
