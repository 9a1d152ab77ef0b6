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
local HEADER, PIECE, EXACT, LONG, LONGEST, GOOD, SLACK = 116, 4096, 9007199254740992, 562949953421312, 36000000000, 10, 60000
local NOTHING, ERROR, NOBODY = 0, 3, string.rep('\0', 16)
local FORM = '<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8'
local function load(key)
  local e = {
    key = key, kind = NOTHING, owner = NOBODY, version = 0, last = 0, made = 0, fresh = 0, stale = 0, delta = 0, deadline = 0,
    ttl = 0, failed = 0, pause = 0, guard = 0, size = 0, piece = redis.call('GETRANGE', key, 0, PIECE - 1),
    whole = true, dirty = false,
  }
  local length = #e.piece
  if length < HEADER or string.sub(e.piece, 1, 3) ~= 'QC\1' then return e end
  if length == PIECE then length = redis.call('STRLEN', key) end
  local _, kind, owner, version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size =
    struct.unpack(FORM, e.piece)
  if kind > ERROR or math.max(version, last, made, deadline, failed, guard) >= EXACT
    or math.max(fresh, stale, delta, ttl, pause) >= LONG or size ~= length - HEADER then return e end
  e.dirty = made > now or deadline > now + ttl or failed > now or guard > now + LONGEST
  e.kind, e.owner, e.version, e.last, e.made = kind, owner, version, last, math.min(made, now)
  e.fresh, e.stale, e.delta, e.deadline, e.ttl = fresh, stale, delta, math.min(deadline, now + ttl), ttl
  e.failed, e.pause, e.guard, e.size = math.min(failed, now), pause, math.min(guard, now + LONGEST), size
  e.whole = kind ~= NOTHING and now >= e.made + fresh + stale
  if e.whole then e.kind, e.size = NOTHING, 0 end
  return e
end
local function payload(e)
  if e.kind == NOTHING then return '' end
  if HEADER + e.size <= #e.piece then return string.sub(e.piece, HEADER + 1) end
  return redis.call('GETRANGE', e.key, HEADER, -1)
end
local function good_until(e)
  return math.min(e.deadline + (GOOD - 1) * e.ttl, now + LONGEST)
end
local function packed(e)
  local till = math.max(now, e.guard, good_until(e), e.kind ~= NOTHING and e.made + e.fresh + e.stale or 0)
  return struct.pack(FORM, 'QC\1', e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl,
    e.failed, e.pause, e.guard, e.size), math.ceil((till - now) / 1000) + SLACK
end
local function try(...)
  local done = redis.pcall(...)
  local refused = type(done) == 'table' and done.err
  if refused and not string.find(refused, 'OOM') then redis.call(...) end
  return not refused
end
local function save(e, value, freeing)
  local head, kept = packed(e)
  local call = freeing and try or redis.call
  if value or not e.whole then call('SETRANGE', e.key, 0, '') end
  if not value and not e.whole then
    redis.call('PEXPIRE', e.key, kept)
    redis.call('SETRANGE', e.key, 0, head)
    return
  end
  if not call('SET', e.key, value or head, 'PX', kept) then
    redis.call('DEL', e.key)
    redis.call('SET', e.key, value or head, 'PX', kept)
  end
  if value then redis.call('SETRANGE', e.key, 0, head) end
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
local CHANNEL, MOST, HEARTBEAT = 16, 1024, 2000
local function register(key, channel)
  local list = redis.pcall('GET', key)
  if type(list) ~= 'string' or #list % CHANNEL > 0 then list = '' end
  local at = string.find(list, channel, 1, true)
  while at and at % CHANNEL ~= 1 do at = string.find(list, channel, at + 1, true) end
  if at or #list >= CHANNEL * MOST then
    redis.call('PEXPIRE', key, HEARTBEAT)
  else
    redis.call('SET', key, list .. channel, 'PX', HEARTBEAT)
  end
end
local function wake(e, key, prefix)
  local list = redis.pcall('GET', key)
  if type(list) ~= 'string' then return list and true end
  local topic = string.sub(redis.sha1hex(e.key), 1, 16)
  for at = 1, #list - CHANNEL + 1, CHANNEL do
    redis.call('PUBLISH', prefix .. string.sub(list, at, at + CHANNEL - 1), topic)
  end
  return true
end
local function forget(key) redis.pcall('DEL', key) end
local e = load(KEYS[1])
local had = e.kind ~= NOTHING and e.kind ~= ERROR
local was_loaded = e.deadline > now
local token = next_token(e)
take_lease(e)
e.kind, e.version, e.last, e.failed, e.pause, e.size, e.whole = NOTHING, token, token, 0, 0, 0, true
e.guard = math.max(e.guard, now + GOOD * tonumber(ARGV[3]))
local told = wake(e, KEYS[2], ARGV[4])
save(e, nil, true)
if told then forget(KEYS[2]) end
return {1, now, had and 1 or 0, was_loaded and 1 or 0}
