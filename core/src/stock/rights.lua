-- Finds out whether the user may do all that writes a sale, before it is opened: who lacks a right would leave a later call half
-- done. Included before open, where none of the keys has anything of ours but the ledger of an earlier sale.
-- ARGV[3] the id of the call, which no field or member has.
-- Invariant: nothing is changed. What would change something has a mistake, which a server sees only after the rights. Its
-- words for one have a space, which no name of a user has that stands in a refusal.
local function may(...)
  local done = redis.pcall(...)
  local refused = type(done) == 'table' and done.err
  local mistaken = refused
    and (string.find(refused, 'an integer') or string.find(refused, 'number of arg') or string.find(refused, 'stream ID'))
  if refused and not mistaken then
    -- Redis 7.0 and before tell only a line, and here that is one for all commands.
    if string.find(refused, 'run this command') then error(refused .. ": run the '" .. (...) .. "' command", 0) end
    -- Again, so that it is refused as if it had not been tried.
    redis.call(...)
  end
end
local function check_rights()
  may('HSET', KEYS[1], '-', '-', '-')
  may('HINCRBY', KEYS[1], '-', '-')
  may('HDEL', KEYS[1], ARGV[3])
  may('HGET', KEYS[1], '-')
  may('HSCAN', KEYS[1], 0)
  may('PEXPIRE', KEYS[1], '-')
  may('SET', KEYS[2], '', 'PX', '-')
  may('ZADD', KEYS[2], 'XX', 0, '-')
  may('ZREM', KEYS[2], ARGV[3])
  may('ZRANGE', KEYS[2], 0, 0)
  may('XADD', KEYS[3], '-', '-', '-')
  may('XTRIM', KEYS[3], 'MAXLEN', '~', NEVER)
end
