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
local function find(records, id, size)
  local at = string.find(records, id, 1, true)
  while at and at % size ~= 1 do at = string.find(records, id, at + 1, true) end
  return at
end
local function holding(holders, id)
  local at, found = 1, string.find(holders, id, 1, true)
  while found and at < found do
    at = at + HOLDER + struct.unpack('<I2', holders, at + 52)
    if at > found then found = string.find(holders, id, at, true) end
  end
  return found
end
local function save_all(tables)
  for _, t in ipairs(tables) do
    if t.changed then
      local head = struct.pack('<I8I4I2', t.last, #t.tombstones, #t.waiters / WAITER)
      local value = 'QK\1' .. head .. t.tombstones .. t.waiters .. t.holders
      local ttl = DAY + math.ceil((t.latest - now) / 1000)
      local done = t.freeing and redis.pcall('SET', t.key, value, 'PX', ttl)
      if done and done.err and string.find(done.err, 'OOM') then redis.call('DEL', t.key) end
      if not done or done.err then redis.call('SET', t.key, value, 'PX', ttl) end
    end
  end
end
local function in_order(how, since) return how % 128 == 2 or now - since >= PATIENCE end
local function wake(t, permits)
  local room, told, cuts = permits - t.held, {}, {}
  for pass = 1, 2 do
    for at = 1, room > 0 and #t.waiters or 0, WAITER do
      local since, weight, how = struct.unpack('<I8I4B', t.waiters, at + 24)
      if in_order(how, since) == (pass == 1) then
        if weight <= room then
          room = room - weight
          if how < 128 then told[#told + 1] = at end
        elseif pass == 1 then
          room = 0
          break
        end
      end
    end
  end
  if #told == 0 then return told end
  table.sort(told)
  for n, at in ipairs(told) do
    local till, since, weight, how = struct.unpack('<I8I8I4B', t.waiters, at + 16)
    if not in_order(how, since) then till = math.min(till, now + RIGHT_OF_WAY) end
    cuts[3 * n - 2], cuts[3 * n - 1] = at + 16, at + 37
    cuts[3 * n] = struct.pack('<I8I8I4B', till, since, weight, how + 128)
  end
  t.waiters = cut(t.waiters, 1, #t.waiters, cuts)
  return told
end
local function publish(t, told, prefix)
  for _, at in ipairs(told) do
    local channel = string.sub(t.waiters, at + 37, at + 52)
    redis.call('PUBLISH', prefix .. channel, string.sub(t.waiters, at, at + 15))
  end
end
local function dismiss(t, at)
  local since, _, how = struct.unpack('<I8I4B', t.waiters, at + 24)
  t.waiters = string.sub(t.waiters, 1, at - 1) .. string.sub(t.waiters, at + WAITER)
  return how ~= 1 or in_order(how, since)
end
local id, cancel, permits, prefix = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local held, tables = 1, load_all(id)
for _, t in ipairs(tables) do
  if not t.left then held = 0 end
  local changed, freed, waits_at = t.dirty or cancel > 0, t.left, find(t.waiters, id, WAITER)
  if waits_at then freed, changed = dismiss(t, waits_at) or freed, true end
  if cancel > 0 then
    local at = find(t.tombstones, id, TOMBSTONE)
    local first = not at and #t.tombstones >= TOMBSTONE * MOST and 1 or at
    local rest = first and cut(t.tombstones, 1, #t.tombstones, {first, first + TOMBSTONE, ''}) or t.tombstones
    t.tombstones = rest .. struct.pack('<c16I8', id, now + cancel)
  end
  local told = freed and wake(t, permits) or {}
  t.changed, t.freeing = changed, true
  t.told = told
end
save_all(tables)
for _, t in ipairs(tables) do publish(t, t.told, prefix) end
return {1, now, held}
