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
  local buyer, member = ARGV[3], ARGV[5]
  local got = redis.call('HMGET', KEYS[1], '', buyer)
  local value, had = got[1], tonumber(got[2])
  if had and (had < 0 or had % 1 ~= 0) then had = nil end
  if value and #value == 116 then
    local kind, per_buyer, ends, retention, cap, _, available, held, sold, entries, seen, offset, due, kept, buyers =
      struct.unpack('<c4I8I8I8I8I8I8I8I8I8I8i8I8I8I8', value)
    local n, time = struct.unpack('<I8', member, 17), now + offset
    local till, count = time + ARGV[4], n
    if had then
      count = had + n
    else
      buyers = buyers + 1
      if n == 1 then count = '1' end
    end
    if kind == 'QS\1\0' and time >= seen and due > time and held > 0 and n <= available and (ends == 0 or now < ends)
      and (per_buyer == 0 or (had or 0) + n <= per_buyer) and kept >= till + retention / 2
      and redis.call('ZADD', KEYS[2], 'NX', string.format('%d', till), member) == 1 then
      available, entries = available - n, entries + 1
      if till < due then due = till end
      local numbers, entry = struct.pack('<I8I8I8I8I8i8', available, held + n, sold, entries, time, offset), nil
      if entries % 64 > 0 then
        entry = redis.pcall('XADD', KEYS[3], '*', 'e', numbers .. 'h' .. member)
      else
        entry = redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', cap, '*', 'e', numbers .. 'h' .. member)
      end
      if entry.err then
        redis.call('ZREM', KEYS[2], member)
        if string.find(entry.err, 'run this command') then entry.err = entry.err .. ": run the 'XADD' command" end
        return entry
      end
      redis.call('HSET', KEYS[1], '', struct.pack('<c44c48I8I8I8', value, numbers, due, kept, buyers), buyer, count)
      return struct.pack('<i8i8i8i8i8i8i8', 1, now, 0, 0, available, till - offset, 0)
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
local function step_of(sales) return math.max(2, math.min(16, math.floor(256 / sales))) end
local function count_of(text)
  local count = tonumber(text)
  return count and count >= 0 and count % 1 == 0 and count or nil
end
local function units_of(member)
  return #member > 24 and string.byte(member, 25) == 98 and struct.unpack('<I8', member, 17) or nil
end
local function load(at, field)
  local got = redis.call('HMGET', KEYS[at], '', field)
  local value = got[1]
  if not value then return nil end
  if #value ~= 116 or string.sub(value, 1, 3) ~= 'QS\1' then return check_format(value) end
  local flags, per_buyer, ends, retention, cap, first, available, held, sold, entries, seen, offset, due, kept, buyers =
    struct.unpack('<BI8I8I8I8I8I8I8I8I8I8i8I8I8I8', value, 4)
  local time = now + offset
  local dirty = kept < time + retention / 2
  if time < seen then offset, time, dirty = offset + seen - time, seen, true end
  return {
    at = at, head = string.sub(value, 1, 36), more = got[2], prized = flags % 2 == 1, per_buyer = per_buyer, ends = ends,
    retention = retention, cap = cap, available = available, held = held, sold = sold, entries = entries, now = time,
    offset = offset, due = due, kept = kept, buyers = buyers, first = first, dirty = dirty, latest = time,
    renew = false, closed = flags > 1, ended = flags > 1 or ends > 0 and now >= ends,
  }
end
local function numbers(s)
  return struct.pack('<I8I8I8I8I8i8', s.available, s.held, s.sold, s.entries, s.now, s.offset)
end
local function save(s)
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
local function unpacked(packed)
  local list, at = {}, 1
  while at + 4 <= #packed and struct.unpack('<I4', packed, at) <= #packed - at - 3 do
    list[#list + 1], at = struct.unpack('<I4c0', packed, at)
  end
  return list
end
local function free(number) return string.format('p%.0f', number) end
local function lay(s, n, list, from, to)
  for first = from, to, 1000 do
    local fields = {}
    for i = first, math.min(first + 999, to) do
      local at = 2 * (i - first)
      fields[at + 1], fields[at + 2] = free(n + i - from), list[i]
    end
    redis.call('HSET', KEYS[s.at], unpack(fields))
  end
end
local function draw(s, id, n)
  local fields, packed = {}, {}
  for i = 1, n do fields[i] = free(s.first + i - 1) end
  local drawn = redis.call('HMGET', KEYS[s.at], unpack(fields))
  for i = 1, n do packed[i] = struct.pack('<I4', #(drawn[i] or '')) .. (drawn[i] or '') end
  packed = table.concat(packed)
  redis.call('HSET', KEYS[s.at], 'g' .. id, packed)
  redis.call('HDEL', KEYS[s.at], unpack(fields))
  s.first = s.first + n
  return drawn, packed
end
local function put_back(s, packed)
  local list = unpacked(packed)
  lay(s, s.first + s.available, list, 1, #list)
end
local function give_back_lost(s)
  local n, cursor, found, given = s.held, s.prized and '0', nil, {}
  while cursor do
    cursor, found = unpack(redis.call('HSCAN', KEYS[s.at], cursor, 'MATCH', 'g*', 'COUNT', 1000))
    for i = 1, #found, 2 do given[found[i]] = found[i + 1] end
    cursor = cursor ~= '0' and cursor
  end
  local packed = {}
  for field, prizes in pairs(given) do
    redis.call('HDEL', KEYS[s.at], field)
    packed[#packed + 1] = prizes
  end
  put_back(s, table.concat(packed))
  s.available, s.held = s.available + n, 0
  append(s, 'x', string.rep('\0', 16) .. struct.pack('<I8', n))
end
local function give_back(s, kind, member)
  local n, buyer, given = struct.unpack('<I8', member, 17), string.sub(member, 25), nil
  if (count_of(redis.call('HGET', KEYS[s.at], buyer)) or 0) > n then
    redis.call('HINCRBY', KEYS[s.at], buyer, string.format('%.0f', -n))
  else
    redis.call('HDEL', KEYS[s.at], buyer)
    s.buyers = math.max(s.buyers - 1, 0)
  end
  if s.prized then
    given = 'g' .. string.sub(member, 1, 16)
    put_back(s, redis.call('HGET', KEYS[s.at], given) or '')
    redis.call('HDEL', KEYS[s.at], given)
  end
  s.available, s.held = s.available + n, s.held - n
  append(s, kind, member)
end
local prizes_left = 2000
local function release(s, most)
  local first, over = redis.call('ZRANGE', KEYS[s.at + 1], 0, most, 'WITHSCORES'), {}
  redis.call('XLEN', KEYS[s.at + 2])
  s.due = 2^53
  for i = 1, #first, 2 do
    local till = tonumber(first[i + 1])
    if till > s.now or #over == most or prizes_left <= 0 then
      s.due = math.min(till, 2^53)
      break
    end
    over[#over + 1] = first[i]
    if s.prized then prizes_left = prizes_left - (units_of(first[i]) or 0) end
  end
  if #over > 0 then redis.call('ZREM', KEYS[s.at + 1], unpack(over)) end
  for _, member in ipairs(over) do
    if units_of(member) then give_back(s, 'x', member) end
  end
  if s.due == 2^53 and s.held > 0 then give_back_lost(s) end
  s.renew = true
  save(s)
end
local buyer, hold, sales, outcome, refused, known, prizes = ARGV[3], ARGV[4] + 0.0, {}, 0, 0, false, 0
local count = math.floor(#KEYS / 3)
for i = 1, count do
  local at, member = 3 * i - 2, ARGV[4 + i]
  local s = load(at, buyer) or {at = at, available = 0}
  s.score, s.member, s.n = redis.call('ZSCORE', KEYS[at + 1], member), member, struct.unpack('<I8', member, 17)
  redis.call('XLEN', KEYS[at + 2])
  s.more = count_of(s.more)
  known, sales[i] = known or s.now and s.score, s
end
local function refusal(s)
  if not s.now then return 3 end
  if s.ended then return 4 end
  if s.per_buyer > 0 and (s.more or 0) + s.n > s.per_buyer then return 2 end
  if s.n > s.available then return 1 end
  return s.prized and prizes > 1000 and 5 or 0
end
local rounds, step = 16, step_of(count)
for i, s in ipairs(known and {} or sales) do
  local why
  if s.prized then prizes = prizes + s.n end
  repeat
    if s.now and s.due <= s.now then
      release(s, step)
      s.more, rounds = count_of(redis.call('HGET', KEYS[s.at], buyer)), rounds - 1
    end
    why = refusal(s)
  until why == 0 or why > 2 or s.due > s.now or rounds < 1
  if why > 0 and outcome == 0 then outcome, refused = why, i end
end
local reply = {1, now, outcome, refused}
for _, s in ipairs(sales) do
  local till, drawn, packed = s.now, {}, nil
  if known then
    till = tonumber(s.score) or till or 0
    if s.prized then drawn = unpacked(redis.call('HGET', KEYS[s.at], 'g' .. string.sub(s.member, 1, 16)) or '') end
  elseif outcome == 0 then
    till = s.now + hold
    s.renew = s.renew or s.held == 0
    redis.call('ZADD', KEYS[s.at + 1], till, s.member)
    if s.prized then drawn, packed = draw(s, string.sub(s.member, 1, 16), s.n) end
    if not s.more then s.buyers = s.buyers + 1 end
    redis.call('HSET', KEYS[s.at], buyer, string.format('%.0f', (s.more or 0) + s.n))
    s.available, s.held, s.due, s.latest = s.available - s.n, s.held + s.n, math.min(s.due, till), till
    append(s, 'h', s.member, packed)
    save(s)
  elseif s.dirty then
    save(s)
  end
  reply[#reply + 1] = s.available
  if outcome == 0 then
    local n = #reply
    reply[n + 1], reply[n + 2] = till - (s.offset or 0), #drawn
    for i, prize in ipairs(drawn) do reply[n + 2 + i] = prize end
  end
end
return reply
