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
if simple and ARGV[12] == '' then
  local ttl, floor, weight, token = ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[7] + 0.0, ARGV[14] + 0.0
  local full = count >= 1024 or held + weight > ARGV[6] + 0.0
  local recorded = own and struct.unpack('<I8', value, own + 32) or 0
  if recorded > floor then
    token = recorded
  elseif token == 0 then
    token = now
    if token <= floor then token = floor + 1 end
    if token <= last then token = last + 1 end
  end
  if own or not full then
    local holders, kept = nil, ARGV[15]
    if token > last then last = token end
    if own then
      local till, length = struct.unpack('<I8I8', value, own + 16)
      if till < now + ttl then till = now + ttl end
      if length < ttl then length = ttl end
      if till > now + ttl and till > latest then latest = till end
      holders = string.sub(value, 17 + 1, own + 15) .. struct.pack('<I8I8I8', till, length, token)
        .. string.sub(value, own + 40)
    else
      local who = ARGV[11]
      holders = struct.pack('<c16I8I8I8I8I4I2', ARGV[3], now + ttl, ttl, token, now, weight, #who) .. who
      if count > 0 then holders = string.sub(value, 17 + 1) .. holders end
    end
    if latest > now + ttl then kept = string.format('%d', 86400000 + math.ceil((latest - now) / 1000)) end
    redis.call('SET', KEYS[1], struct.pack('<c3I8I4I2', 'QK\1', last, 0, 0) .. holders, 'PX', kept)
    return struct.pack('<i8i8i8i8i8i8', 1, now, 0, 1, 0, token)
  elseif count > 0 and ARGV[8] == '0' then
    return {struct.pack('<i8i8i8i8i8i8i8', 1, now, 0, 0, 0, earliest - now, 0),
      string.sub(value, 17 + 54 + 1, 17 + 54 + first)}
  end
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
local function precedes(waiters, at, since, id)
  local came = struct.unpack('<I8', waiters, at + 24)
  if came ~= since then return came < since end
  for n = 1, 16 do
    local other, own = string.byte(waiters, at + n - 1), string.byte(id, n)
    if other ~= own then return other < own end
  end
  return false
end
local function place(waiters, since, id)
  local at = #waiters + 1
  while at > 1 and not precedes(waiters, at - 53, since, id) do at = at - 53 end
  return at
end
local function renew(t, at, ttl, token)
  local deadline, length, before = struct.unpack('<I8I8I8', t.holders, at + 16)
  deadline, length = math.max(deadline, now + ttl), math.max(length, ttl)
  t.holders = string.sub(t.holders, 1, at + 15) .. struct.pack('<I8I8I8', deadline, length, token or before)
    .. string.sub(t.holders, at + 40)
  t.latest = math.max(t.latest, deadline)
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
local id, ttl, floor, permits = ARGV[3], ARGV[4] + 0.0, ARGV[5] + 0.0, ARGV[6] + 0.0
local weight, queue, channel, prefix = ARGV[7] + 0.0, ARGV[8] + 0.0, ARGV[9], ARGV[10]
local who, leaving, since, token = ARGV[11], ARGV[12], math.max(now - ARGV[13], 0), ARGV[14] + 0.0
local tables, fresh, recorded = load_all(leaving), math.max(now, floor + 1), 0
local outcome, owned, healed, released = 1, true, 0, leaving ~= '' and 1 or 0
for _, t in ipairs(tables) do
  t.waits_at = find(t.waiters, id, 53)
  if t.waits_at then since = math.min(since, (struct.unpack('<I8', t.waiters, t.waits_at + 24))) end
end
local ordered = in_order(queue, since)
local stands = ordered and queue > 0
for _, t in ipairs(tables) do
  if t.foreign then healed = 1 end
  if not t.left then released = 0 end
  if find(t.tombstones, id, 24) then outcome = 2 end
  fresh = math.max(fresh, t.last + 1)
  t.held_at = holding(t.holders, id)
  if t.held_at then
    recorded = math.max(recorded, (struct.unpack('<I8', t.holders, t.held_at + 32)))
  else
    local turn = place(t.waiters, since, id)
    local first = ordered or t.waits_at and string.byte(t.waiters, t.waits_at + 36) > 1
    local earlier, ahead = (turn - 1) / 53, 0
    if t.waits_at and t.waits_at < turn then earlier = earlier - 1 end
    for at = 1, first and turn - 1 or #t.waiters, 53 do
      local till, came, wanted, how = struct.unpack(WAITS, t.waiters, at + 16)
      if at ~= t.waits_at and (how > 1 or in_order(how, came)) then
        ahead, t.earliest = ahead + wanted, math.min(t.earliest, till)
      end
    end
    t.full = t.count >= 1024 or t.held + weight > permits
    t.refuses = t.full or t.held + ahead + weight > permits or leaving ~= '' and earlier > 0
    owned = false
    if t.refuses and outcome == 1 then outcome = 0 end
    if not t.waits_at and #t.waiters >= 53 * 1024 then stands = false end
  end
end
if owned and recorded > floor then token = recorded elseif token == 0 then token = fresh end
local wait, behind, holder = 0, 0, ''
if outcome == 1 then
  for _, t in ipairs(tables) do
    if t.waits_at then dismiss(t, t.waits_at) end
    if t.held_at then
      renew(t, t.held_at, ttl, token)
    else
      t.holders = t.holders .. id .. struct.pack(HOLDS, now + ttl, ttl, token, now, weight, #who) .. who
      t.held, t.latest = t.held + weight, math.max(t.latest, now + ttl)
    end
    t.last, t.changed = math.max(t.last, token), true
  end
elseif outcome == 0 then
  for _, t in ipairs(tables) do
    local waits = queue > 0 and (t.waits_at or #t.waiters < 53 * 1024)
    if t.refuses then
      wait = math.max(wait, t.earliest < 2^53 and t.earliest - now or 1500000)
      behind = math.max(behind, ((t.waits_at or #t.waiters + 1) - 1) / 53)
      if t.full and holder == '' and t.holders ~= '' then
        holder = string.sub(t.holders, 54 + 1, 54 + struct.unpack('<I2', t.holders, 54 - 1))
      end
    elseif not stands or t.held_at then
      if waits and t.waits_at then t.freed, t.changed = dismiss(t, t.waits_at), true end
      waits = false
    end
    if waits then
      if t.waits_at then dismiss(t, t.waits_at) end
      local at = place(t.waiters, since, id)
      t.waiters = string.sub(t.waiters, 1, at - 1) .. id .. struct.pack(WAITS, now + 1500000, since, weight, queue)
        .. channel .. string.sub(t.waiters, at)
      t.changed = true
    end
  end
end
for _, t in ipairs(tables) do
  local told = (t.freed or t.left) and wake(t, permits) or {}
  t.changed, t.freeing = t.changed or t.foreign or t.dirty, t.left
  publish(t, told, prefix)
end
save_all(tables)
if outcome == 1 then return {1, now, healed, outcome, released, token} end
if outcome == 2 then return {1, now, healed, outcome, released} end
return {1, now, healed, outcome, released, wait, behind, holder}
