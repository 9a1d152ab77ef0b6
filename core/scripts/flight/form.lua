-- Reads an entry and brings it to now; writes it. Included after the clock.
-- Value: a header of 116 bytes, then the payload. Header: 'QC' version, kind (B: 0 nothing, 1 a value, 2 none on purpose,
-- 3 an error), owner (c16), and I8 each: version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size.
-- Invariant: a value of another form counts as none; a payload that is over is gone; no time is later than can be.
local string, math = string, math
local HEADER, PIECE, EXACT, LONG, LONGEST, GOOD, SLACK = 116, 4096, 9007199254740992, 562949953421312, 36000000000, 10, 60000
local NOTHING, ERROR, NOBODY = 0, 3, string.rep('\0', 16)
local FORM = '<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8'
-- `whole` says that more than the header must be written, `dirty` that the header was mended.
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
-- Until when the token of the lease may be used, if there is one, also one that has ended without a word of its owner.
local function good_until(e)
  return math.min(e.deadline + (GOOD - 1) * e.ttl, now + LONGEST)
end
-- The header of an entry, and for how long it is kept: a minute longer than anything in it counts.
local function packed(e)
  local till = math.max(now, e.guard, good_until(e), e.kind ~= NOTHING and e.made + e.fresh + e.stale or 0)
  return struct.pack(FORM, 'QC\1', e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl,
    e.failed, e.pause, e.guard, e.size), math.ceil((till - now) / 1000) + SLACK
end
-- Tries a command. Whether it was done; if not, the server is full, or refuses whatever is tried next as well.
local function try(...)
  local done = redis.pcall(...)
  local refused = type(done) == 'table' and done.err
  -- Again, so that it is refused as if it had not been tried.
  if refused and not string.find(refused, 'OOM') then redis.call(...) end
  return not refused
end
-- Writes an entry: its header, or with `value` (room for the header, then the payload) all of it. A full server refuses to
-- write, but not to a script that has written already: what frees the way must pass even then.
-- Invariant: a user who may not call a command is refused before
-- anything changed: writing nothing is refused as well, and nothing is deleted that SET may not replace.
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
