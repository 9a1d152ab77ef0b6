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
  local form, value = '<c3Bc16I7I7I2', ARGV[6]
  local piece = redis.call('GETRANGE', KEYS[1], '0', '4095')
  local length = #piece
  if length == 0 and #value <= 116 + 3980 then
    local kind, ttl, payload = ARGV[5] + 0.0, ARGV[4] + 0.0, string.sub(value, 116 + 1)
    redis.call('SET', KEYS[1], struct.pack(form, 'QC\1', 128 + kind, ARGV[3], now, ttl, #payload) .. payload, 'PX', ARGV[7])
    return {struct.pack('<i8i8i8i8i8i8', 1, now, 1, kind, ttl, 0), payload}
  end
  if length >= 36 and length <= 36 + 3980 and string.byte(piece, 4) > 128 then
    local mark, kind, owner, made, fresh, size = struct.unpack(form, piece)
    local left = made + fresh - now
    if mark == 'QC\1' and kind < 128 + 3 and size == length - 36 and made <= now and left > 0 and fresh < 2^49 then
      return {struct.pack('<i8i8i8i8i8i8', 1, now, owner == ARGV[3] and 1 or 0, kind - 128, left, now - made),
        string.sub(piece, 36 + 1)}
    end
  elseif length >= 116 and length < 4096 then
    local mark, kind, owner, version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size =
      struct.unpack('<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8', piece)
    local left = made + fresh + stale - now
    if mark == 'QC\1' and kind ~= 0 and kind < 3 and size == length - 116 and made <= now and left > 0
      and deadline <= now and failed <= now and guard <= now + 36000000000 and version < 2^53 and last < 2^53
      and fresh < 2^49 and stale < 2^49 and delta < 2^49 and ttl < 2^49 and pause < 2^49 then
      local claimed = deadline == 0 and owner == ARGV[3] and 1 or 0
      return {struct.pack('<i8i8i8i8i8i8', 1, now, claimed, kind, left, now - made), string.sub(piece, 116 + 1)}
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
local NOBODY = string.rep('\0', 16)
local FORM = '<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8'
local SHORT_FORM = '<c3Bc16I7I7I2'
local function blank(key, piece)
  return {
    key = key, kind = 0, owner = NOBODY, version = 0, last = 0, made = 0, fresh = 0, stale = 0, delta = 0, deadline = 0,
    ttl = 0, failed = 0, pause = 0, guard = 0, size = 0, piece = piece, offset = 116,
    whole = true, dirty = false,
  }
end
local function read(e, length)
  local _
  local kind = string.byte(e.piece, 4)
  if kind > 128 then
    _, _, e.owner, e.made, e.fresh, e.size = struct.unpack(SHORT_FORM, e.piece)
    e.kind, e.version, e.last, e.offset = kind - 128, e.made, e.made, 36
    return e.kind < 3 and e.made < 2^53 and e.fresh < 2^49 and e.size <= 3980 and e.size == length - 36
  end
  if length < 116 then return false end
  _, e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl, e.failed, e.pause, e.guard, e.size =
    struct.unpack(FORM, e.piece)
  return e.kind <= 3 and math.max(e.version, e.last, e.made, e.deadline, e.failed, e.guard) < 2^53
    and math.max(e.fresh, e.stale, e.delta, e.ttl, e.pause) < 2^49 and e.size == length - 116
end
local function load(key)
  local piece = redis.call('GETRANGE', key, '0', '4095')
  local e, length = blank(key, piece), #piece
  if length < 36 or string.sub(piece, 1, 3) ~= 'QC\1' then
    check_format(piece)
    return e
  end
  if length == 4096 then length = redis.call('STRLEN', key) end
  if not read(e, length) then return blank(key, piece) end
  local made, deadline, failed, guard = e.made, e.deadline, e.failed, e.guard
  e.made, e.deadline = math.min(made, now), math.min(deadline, now + e.ttl)
  e.failed, e.guard = math.min(failed, now), math.min(guard, now + 36000000000)
  e.dirty = e.made < made or e.deadline < deadline or e.failed < failed or e.guard < guard
  e.whole = e.kind ~= 0 and now >= e.made + e.fresh + e.stale
  if e.whole then e.kind, e.size = 0, 0 end
  return e
end
local function payload(e)
  if e.kind == 0 then return '' end
  if e.offset + e.size <= #e.piece then return string.sub(e.piece, e.offset + 1) end
  return redis.call('GETRANGE', e.key, 116, -1)
end
local function good_until(e)
  return math.min(e.deadline + (10 - 1) * e.ttl, now + 36000000000)
end
local function packed(e)
  local till = math.max(now, e.guard, good_until(e), e.kind ~= 0 and e.made + e.fresh + e.stale or 0)
  local kept = math.ceil((till - now) / 1000) + 60000
  if e.kind ~= 0 and e.kind ~= 3 and e.size <= 3980 and e.version == e.made and e.last == e.made
    and e.stale + e.delta + e.deadline + e.ttl + e.failed + e.pause + e.guard == 0 then
    return struct.pack(SHORT_FORM, 'QC\1', 128 + e.kind, e.owner, e.made, e.fresh, e.size), kept
  end
  return struct.pack(FORM, 'QC\1', e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl,
    e.failed, e.pause, e.guard, e.size), kept
end
local function try(...)
  local done = redis.pcall(...)
  local refused = type(done) == 'table' and done.err
  if refused and not string.find(refused, 'OOM') then
    if string.find(refused, 'run this command') then error(refused .. ": run the '" .. (...) .. "' command", 0) end
    redis.call(...)
  end
  return not refused
end
local function save(e, value, freeing)
  local head, kept = packed(e)
  local call = freeing and try or redis.call
  if value or not e.whole then call('SETRANGE', e.key, 0, '') end
  if not value and not e.whole and #head == e.offset then
    redis.call('PEXPIRE', e.key, kept)
    redis.call('SETRANGE', e.key, 0, head)
    return
  end
  local has_room = value and #head == 116
  local all = has_room and value or head .. (value and string.sub(value, 116 + 1) or payload(e))
  if not call('SET', e.key, all, 'PX', kept) then
    redis.call('DEL', e.key)
    redis.call('SET', e.key, all, 'PX', kept)
  end
  if has_room then redis.call('SETRANGE', e.key, 0, head) end
end
local function next_token(e)
  return math.max(e.last + 1, now)
end
local function loads(e, id)
  return e.deadline > now and e.owner == id
end
local function end_lease(e)
  e.owner, e.deadline, e.ttl = NOBODY, 0, 0
end
local function take_lease(e)
  e.guard = math.max(e.guard, good_until(e))
  end_lease(e)
end
local id, e = ARGV[3], load(KEYS[1])
if e.kind ~= 0 and e.kind ~= 3 then
  if e.dirty then save(e, nil, true) end
  local claimed = e.deadline == 0 and e.owner == id
  return {1, now, claimed and 1 or 0, e.kind, e.made + e.fresh + e.stale - now, now - e.made, payload(e)}
end
if e.deadline > now then
  if e.dirty then save(e, nil, true) end
  return {1, now, 0, 0, e.deadline - now, 0, ''}
end
local ttl, token = ARGV[4] + 0.0, next_token(e)
take_lease(e)
e.owner, e.kind, e.version, e.last, e.made = id, ARGV[5] + 0.0, token, token, now
e.fresh, e.stale, e.failed, e.pause, e.size = ttl, 0, 0, 0, #ARGV[6] - 116
save(e, ARGV[6], false)
return {1, now, 1, e.kind, ttl, 0, string.sub(ARGV[6], 116 + 1)}
