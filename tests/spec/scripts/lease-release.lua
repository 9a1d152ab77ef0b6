--!df flags=legacy-float
local ARGV, redis, struct = ARGV, redis, struct
local virtual, now = ARGV[1] ~= '', nil
if virtual then
  now = ARGV[1] + 0.0
else
  local time = redis.call('TIME')
  now = time[1] * 1e6 + time[2]
end
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then
  return {0, now}
end
do
local simple, value, size, last = #KEYS == 1, nil, 17, 0
local count, held, earliest, latest, first, own, behind_own = 0, 0, 2^53, 0, 0, nil, nil
if simple then
  value = redis.call('GET', KEYS[1])
  if value then
    local string, id, at = string, ARGV[3], 17 + 1
    size = #value
    if size >= 17 then
      local q, k, one, tombstones, waiters
      q, k, one, last, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
      simple = q == 81 and k == 75 and one == 1 and tombstones + waiters == 0 and last < 2^53
    else
      simple = false
    end
    while simple and at <= size do
      if at + 54 > size + 1 then simple = false break end
      local deadline, ttl, token, since, weight, who = struct.unpack('<I8I8I8I8I4I2', value, at + 16)
      local behind = at + 54 + who
      simple = behind <= size + 1 and deadline > now and deadline <= now + ttl and since <= now and deadline < 2^53
        and ttl < 2^53 and token < 2^53
      if count == 0 then first = who end
      count, held = count + 1, held + weight
      if deadline < earliest then earliest = deadline end
      if string.sub(value, at, at + 15) == id then
        if own then simple = false end
        own, behind_own = at, behind
      elseif deadline > latest then
        latest = deadline
      end
      at = behind
    end
  end
end
if simple and own and ARGV[4] == '0' then
  local rest, kept = string.sub(value, 1, own - 1), ARGV[7]
  if count > 1 then
    rest, kept = rest .. string.sub(value, behind_own), string.format('%d', 86400000 + math.ceil((latest - now) / 1000))
  end
  local done = redis.pcall('SET', KEYS[1], rest, 'PX', kept)
  if not done.err then return struct.pack('<i8i8i8', 1, now, 1) end
end
end
local function check_format(bytes)
  local number, rest = string.byte(bytes, 7, 8)
  if rest and number + rest == 255 and number > 1 and string.sub(bytes, 1, 6) == '\255quota' then
    error('NEWERVERSION ' .. number, 0)
  end
end
local string, math = string, math
local NONE = 'QK\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
local WAITS, HOLDS = '<I8I8I4B', '<I8I8I8I8I4I2'
local function cut(value, at, stop, cuts)
  if not cuts then return string.sub(value, at, stop) end
  local pieces = {}
  for n = 1, #cuts, 3 do
    pieces[n], pieces[n + 1], pieces[n + 2] = string.sub(value, at, cuts[n] - 1), cuts[n + 2], ''
    at = cuts[n + 1]
  end
  pieces[#pieces + 1] = string.sub(value, at, stop)
  return table.concat(pieces)
end
local function noted(cuts, from, behind, instead)
  cuts = cuts or {}
  local n = #cuts
  cuts[n + 1], cuts[n + 2], cuts[n + 3] = from, behind, instead
  return cuts
end
local function waiting(t, value, first, stop)
  local cuts
  for at = first, stop - 1, 53 do
    local till, since, _, how = struct.unpack(WAITS, value, at + 16)
    if till >= 2^53 or since >= 2^53 or how % 128 ~= 1 and how % 128 ~= 2 then return nil end
    local mended = till > now + 1500000 or since > now
    if mended then t.dirty = true end
    if till <= now then
      cuts = noted(cuts, at, at + 53, '')
    elseif mended then
      local times = struct.pack('<I8I8', math.min(till, now + 1500000), math.min(since, now))
      cuts = noted(cuts, at + 16, at + 32, times)
    end
  end
  return cut(value, first, stop - 1, cuts)
end
local function holding_still(t, value, first, leaving)
  local at, cuts, gone = first, nil, leaving ~= '' and 0
  local count, held, earliest, latest = 0, 0, 2^53, now
  while at <= #value do
    if at + 54 > #value + 1 then return nil end
    local deadline, ttl, token, since, weight, size = struct.unpack(HOLDS, value, at + 16)
    local behind = at + 54 + size
    if behind > #value + 1 or deadline >= 2^53 or ttl >= 2^53 or token >= 2^53 or since >= 2^53 then return nil end
    if gone and gone < at then gone = string.find(value, leaving, at, true) end
    local mended = deadline > now + ttl or since > now
    if mended then deadline, since = math.min(deadline, now + ttl), math.min(since, now) end
    if mended or at == gone then t.dirty = true end
    if deadline <= now or at == gone then
      cuts, t.left = noted(cuts, at, behind, ''), t.left or deadline > now
    else
      if mended then
        cuts = noted(cuts, at + 16, at + 48, struct.pack('<I8I8I8I8', deadline, ttl, token, since))
      end
      count, held = count + 1, held + weight
      if deadline < earliest then earliest = deadline end
      if deadline > latest then latest = deadline end
    end
    at = behind
  end
  t.count, t.held, t.earliest, t.latest = count, held, earliest, latest
  return cut(value, first, #value, cuts)
end
local function parse(key, value, leaving)
  if #value < 17 or string.sub(value, 1, 3) ~= 'QK\1' then return check_format(value) end
  local last, tombstones, waiters, at = struct.unpack('<I8I4I2', value, 4)
  local first = at + tombstones
  local stop = first + 53 * waiters
  if last >= 2^53 or tombstones % 24 > 0 or tombstones > 24 * 1024
    or waiters > 1024 or stop > #value + 1 then return nil end
  local t = {
    key = key, last = last, tombstones = '', waiters = '', holders = '', count = 0, held = 0, earliest = 2^53, latest = now,
    dirty = false, left = false, foreign = false, changed = false, freed = false, freeing = false, told = false, full = false,
    refuses = false, held_at = nil, waits_at = nil,
  }
  while at < first do
    local till = struct.unpack('<I8', value, at + 16)
    if till > now and till <= now + 3700000000 then break end
    at = at + 24
  end
  t.tombstones, t.waiters = string.sub(value, at, first - 1), waiting(t, value, first, stop)
  t.holders = t.waiters and holding_still(t, value, stop, leaving)
  return t.holders and t
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
    at = at + 54 + struct.unpack('<I2', holders, at + 52)
    if at > found then found = string.find(holders, id, at, true) end
  end
  return found
end
local function save_all(tables)
  for _, t in ipairs(tables) do
    if t.changed then
      local head = struct.pack('<I8I4I2', t.last, #t.tombstones, #t.waiters / 53)
      local value = 'QK\1' .. head .. t.tombstones .. t.waiters .. t.holders
      local ttl = 86400000 + math.ceil((t.latest - now) / 1000)
      local done = t.freeing and redis.pcall('SET', t.key, value, 'PX', ttl)
      if done and done.err and string.find(done.err, 'OOM') then redis.call('DEL', t.key) end
      if not done or done.err then redis.call('SET', t.key, value, 'PX', ttl) end
    end
  end
end
local function tell(channel, message)
  if string.byte(channel, #channel - 15) == 115 then
    local heard = redis.pcall('SPUBLISH', channel, message)
    if type(heard) == 'number' and heard > 0 then return end
  end
  redis.call('PUBLISH', channel, message)
end
local function in_order(how, since) return how % 128 == 2 or now - since >= 500000 end
local function wake(t, permits)
  local room, told, cuts = permits - t.held, {}, {}
  for pass = 1, 2 do
    for at = 1, room > 0 and #t.waiters or 0, 53 do
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
    local till, since, weight, how = struct.unpack(WAITS, t.waiters, at + 16)
    if not in_order(how, since) then till = math.min(till, now + 50000) end
    cuts[3 * n - 2], cuts[3 * n - 1] = at + 16, at + 37
    cuts[3 * n] = struct.pack(WAITS, till, since, weight, how + 128)
  end
  t.waiters = cut(t.waiters, 1, #t.waiters, cuts)
  return told
end
local function publish(t, told, prefix)
  for _, at in ipairs(told) do
    local channel = string.sub(t.waiters, at + 37, at + 52)
    tell(prefix .. channel, string.sub(t.waiters, at, at + 15))
  end
end
local function dismiss(t, at)
  local since, _, how = struct.unpack('<I8I4B', t.waiters, at + 24)
  t.waiters = string.sub(t.waiters, 1, at - 1) .. string.sub(t.waiters, at + 53)
  return how ~= 1 or in_order(how, since)
end
local id, cancel, permits, prefix = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6]
local held, tables = 1, load_all(id)
for _, t in ipairs(tables) do
  if not t.left then held = 0 end
  local changed, freed, waits_at = t.dirty or cancel > 0, t.left, find(t.waiters, id, 53)
  if waits_at then freed, changed = dismiss(t, waits_at) or freed, true end
  if cancel > 0 then
    local at = find(t.tombstones, id, 24)
    local first = not at and #t.tombstones >= 24 * 1024 and 1 or at
    local rest = first and cut(t.tombstones, 1, #t.tombstones, {first, first + 24, ''}) or t.tombstones
    t.tombstones = rest .. id .. struct.pack('<I8', now + cancel)
  end
  local told = freed and wake(t, permits) or {}
  t.changed, t.freeing = changed, true
  t.told = told
end
save_all(tables)
for _, t in ipairs(tables) do publish(t, t.told, prefix) end
return {1, now, held}
