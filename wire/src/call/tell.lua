-- Tells who listens at a channel. The waiter has chosen how, by its first letter: at one with an s it hears SPUBLISH at the
-- server that has its slot, which is the key's. If nobody hears that here (the slot is on its way, the server is too old, or
-- the user may not) PUBLISH goes to all servers, and it hears that as well.
local function tell(channel, message)
  if string.byte(channel, #channel - 15) == SHARDED then
    local heard = redis.pcall('SPUBLISH', channel, message)
    if type(heard) == 'number' and heard > 0 then return end
  end
  redis.call('PUBLISH', channel, message)
end
