-- Writes a sale and its ledger. Included after load.
-- What stands in the middle of the state, and at the beginning of each entry of the ledger.
local function numbers(s)
  return struct.pack('<I8I8I8I8I8i8', s.available, s.held, s.sold, s.entries, s.now, s.offset)
end
local function save(s)
  -- The keys are kept for as long as `retention` after the last touch, give or take half of it: not every touch sets three TTLs.
  local latest = math.max(s.latest, s.now, s.ends > 0 and s.ends + s.offset or 0)
  local renew = s.renew or s.kept < latest + s.retention / 2
  if renew then s.kept = math.max(s.kept, latest + s.retention) end
  redis.call('HSET', KEYS[s.at], '', s.head .. struct.pack('<I8', s.first) .. numbers(s)
    .. struct.pack('<I8I8I8', s.due, s.kept, s.buyers))
  if renew then
    local ttl = math.ceil((s.kept - s.now) / 1000)
    for at = s.at, s.at + 2 do redis.call('PEXPIRE', KEYS[at], ttl) end
  end
  s.dirty, s.renew = false, false
end
-- Appends to the ledger what was done with a member, with the numbers after it.
local function append(s, kind, member, prizes)
  s.entries = s.entries + 1
  local entry = numbers(s) .. kind .. member
  if s.entries % 64 == 0 then redis.call('XTRIM', KEYS[s.at + 2], 'MAXLEN', '~', s.cap) end
  if prizes then
    redis.call('XADD', KEYS[s.at + 2], '*', 'e', entry, 'p', prizes)
  else
    redis.call('XADD', KEYS[s.at + 2], '*', 'e', entry)
  end
end
