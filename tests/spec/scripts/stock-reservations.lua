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
local s = load(1, 'o')
if not s then return {1, now, -1} end
local from, most, at, found = tonumber(ARGV[3]) or 0, tonumber(ARGV[5]), nil, nil
if from > s.now and tonumber(redis.call('ZSCORE', KEYS[2], ARGV[4]) or 0) == from then
  at = redis.call('ZRANK', KEYS[2], ARGV[4]) + 1
  found = redis.call('ZRANGE', KEYS[2], at, at + most - 1, 'WITHSCORES')
else
  from = string.format('%.0f', math.max(from, s.now + 1))
  found = redis.call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
end
local reply, prizes = {1, now, -1}, 0
for i = 1, #found, 2 do
  local till, list = tonumber(found[i + 1]), {}
  if units_of(found[i]) and till < 2^53 then
    if s.prized then list = unpacked(redis.call('HGET', KEYS[1], 'g' .. string.sub(found[i], 1, 16)) or '') end
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = found[i], till - s.offset, #list
    for j, prize in ipairs(list) do reply[n + 3 + j] = prize end
    prizes = prizes + #list
    if i + 1 == 2 * most or prizes >= 2000 and i + 1 < #found then
      reply[3] = till
      break
    end
  end
end
return reply
