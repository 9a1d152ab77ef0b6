local KEYS, ARGV, redis, struct = KEYS, ARGV, redis, struct
local virtual, now = ARGV[1] ~= '', nil
if virtual then
  now = tonumber(ARGV[1])
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then
  return {0, now}
end
local string, math = string, math
local HEARTBEAT, RIGHT_OF_WAY, PATIENCE, MOST, DAY, LONGEST = 1500000, 50000, 500000, 1024, 86400000, 3700000000
local EXACT = 9007199254740992
local TOMBSTONE, WAITER, HOLDER = 24, 53, 54
local NONE = 'QK\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
local function cut(value, at, stop, cuts)
  local pieces = {}
  for n = 1, #cuts, 3 do
    pieces[n], pieces[n + 1], pieces[n + 2] = string.sub(value, at, cuts[n] - 1), cuts[n + 2], ''
    at = cuts[n + 1]
  end
  pieces[#pieces + 1] = string.sub(value, at, stop)
  return table.concat(pieces)
end
local function parse(key, value, leaving)
  if #value < 17 or string.sub(value, 1, 3) ~= 'QK\1' then return nil end
  local last, tombstones, waiters, at = struct.unpack('<I8I4I2', value, 4)
  local first = at + tombstones
  local stop = first + WAITER * waiters
  if last >= EXACT or tombstones % TOMBSTONE > 0 or tombstones > TOMBSTONE * MOST or waiters > MOST
    or stop > #value + 1 then return nil end
  while at < first do
    local till = struct.unpack('<I8', value, at + 16)
    if till > now and till <= now + LONGEST then break end
    at = at + TOMBSTONE
  end
  local tombs, dirty, left, cuts = at < first and string.sub(value, at, first - 1) or '', false, false, nil
  for from = first, stop - 1, WAITER do
    local till, since, _, how = struct.unpack('<I8I8I4B', value, from + 16)
    if till >= EXACT or since >= EXACT or how % 128 ~= 1 and how % 128 ~= 2 then return nil end
    local mended = till > now + HEARTBEAT or since > now
    if mended then till, since, dirty = math.min(till, now + HEARTBEAT), math.min(since, now), true end
    if till <= now or mended then
      cuts = cuts or {}
      local n = #cuts
      cuts[n + 1], cuts[n + 2], cuts[n + 3] = from, from + WAITER, ''
      if till > now then
        cuts[n + 1], cuts[n + 2], cuts[n + 3] = from + 16, from + 32, struct.pack('<I8I8', till, since)
      end
    end
  end
  local waiting = cuts and cut(value, first, stop - 1, cuts) or string.sub(value, first, stop - 1)
  local count, held, earliest, latest, gone = 0, 0, EXACT, now, leaving ~= '' and 0
  at, cuts = stop, nil
  while at <= #value do
    if at + HOLDER > #value + 1 then return nil end
    local deadline, ttl, token, since, weight, size = struct.unpack('<I8I8I8I8I4I2', value, at + 16)
    local after = at + HOLDER + size
    if after > #value + 1 or deadline >= EXACT or ttl >= EXACT or token >= EXACT or since >= EXACT then return nil end
    if gone and gone < at then gone = string.find(value, leaving, at, true) end
    local mended = deadline > now + ttl or since > now
    if mended then deadline, since, dirty = math.min(deadline, now + ttl), math.min(since, now), true end
    local over = deadline <= now or at == gone
    if at == gone then dirty = true end
    if over or mended then
      cuts = cuts or {}
      local n = #cuts
      cuts[n + 1], cuts[n + 2], cuts[n + 3] = at, after, ''
      if not over then
        cuts[n + 1], cuts[n + 2], cuts[n + 3] = at + 16, at + 48, struct.pack('<I8I8I8I8', deadline, ttl, token, since)
      end
    end
    if over then
      left = left or deadline > now
    else
      count, held = count + 1, held + weight
      if deadline < earliest then earliest = deadline end
      if deadline > latest then latest = deadline end
    end
    at = after
  end
  return {
    last = last, tombstones = tombs, waiters = waiting, count = count, held = held, earliest = earliest, latest = latest,
    holders = cuts and cut(value, stop, #value, cuts) or string.sub(value, stop), dirty = dirty, left = left,
    key = key, changed = false, freeing = false, told = false, foreign = false, held_at = nil, waits_at = nil, full = false, refuses = false,
  }
end
local function load_all(leaving)
  local tables = {}
  for n = 1, #KEYS do
    local value = redis.call('GET', KEYS[n])
    local t = value and parse(KEYS[n], value, leaving)
    if not t then
      t = parse(KEYS[n], NONE, leaving)
      t.foreign = value and true
    end
    tables[n] = t
  end
  return tables
end
local t = load_all('')[1]
local reply, at = {1, now, t.foreign and 1 or 0, t.last, #t.waiters / WAITER}, 1
while at <= #t.holders do
  local deadline, _, token, since, weight, size = struct.unpack('<I8I8I8I8I4I2', t.holders, at + 16)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = token, weight, since, deadline
  reply[n + 5], reply[n + 6] = deadline - now, string.sub(t.holders, at + HOLDER, at + HOLDER + size - 1)
  at = at + HOLDER + size
end
return reply
