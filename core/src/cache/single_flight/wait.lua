-- Those who wait for an entry: their channels, of 16 bytes each, under a key of its own. Included after codec.
-- A hint says which entry: the first 16 digits of the SHA-1 of its key. It is only a hint, and so is the list.
local function register(key, channel)
  local list = redis.pcall('GET', key)
  if type(list) ~= 'string' or #list % CHANNEL > 0 then list = '' end
  local at = string.find(list, channel, 1, true)
  while at and at % CHANNEL ~= 1 do at = string.find(list, channel, at + 1, true) end
  if at or #list >= CHANNEL * MOST_WAITERS then
    redis.call('PEXPIRE', key, HEARTBEAT_MS)
  else
    redis.call('SET', key, list .. channel, 'PX', HEARTBEAT_MS)
  end
end
-- They ask once this script is done, so they may be told before the entry is saved. Whether there is a list to forget then. Without a
-- key nobody is told: they ask again within a second.
local function wake(e, key, prefix)
  if not key then return false end
  local list = redis.pcall('GET', key)
  if type(list) ~= 'string' then return list and true end
  local topic = string.sub(redis.sha1hex(e.key), 1, 16)
  for at = 1, #list - CHANNEL + 1, CHANNEL do
    tell(prefix .. string.sub(list, at, at + CHANNEL - 1), topic)
  end
  return true
end
-- A list that stays, if it may not be deleted, is forgotten by itself: who is told once more only asks once more.
local function forget(key) redis.pcall('DEL', key) end
