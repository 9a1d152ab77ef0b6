-- Reads an entry and brings it to now; writes it. Included after the clock. What is stored: see docs/formats.md.
-- Invariant: a value of another form counts as none; a payload that is over is gone; no time is later than can be.
local string, math = string, math
local NOBODY = string.rep('\0', 16)
local FORM = '<c3Bc16I8I8I8I8I8I8I8I8I8I8I8I8'
-- The short form: of a value that nobody loaded or loads, whose version, last token and time are one number.
local SHORT_FORM = '<c3Bc16I7I7I2'
-- An entry of which nothing is known. `whole` says that more than the header must be written, `dirty` that it was changed.
local function blank(key, piece)
  return {
    key = key, kind = NOTHING, owner = NOBODY, version = 0, last = 0, made = 0, fresh = 0, stale = 0, delta = 0, deadline = 0,
    ttl = 0, failed = 0, pause = 0, guard = 0, size = 0, piece = piece, offset = HEADER,
    whole = true, dirty = false,
  }
end
-- Reads the header of so many bytes in all; whether it is ours.
local function read(e, length)
  local _
  local kind = string.byte(e.piece, 4)
  if kind > SHORT then
    _, _, e.owner, e.made, e.fresh, e.size = struct.unpack(SHORT_FORM, e.piece)
    e.kind, e.version, e.last, e.offset = kind - SHORT, e.made, e.made, SHORT_HEADER
    return e.kind < ERROR and e.made < EXACT and e.fresh < LONG and e.size <= MOST_SHORT and e.size == length - SHORT_HEADER
  end
  if length < HEADER then return false end
  _, e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl, e.failed, e.pause, e.guard, e.size =
    struct.unpack(FORM, e.piece)
  return e.kind <= ERROR and math.max(e.version, e.last, e.made, e.deadline, e.failed, e.guard) < EXACT
    and math.max(e.fresh, e.stale, e.delta, e.ttl, e.pause) < LONG and e.size == length - HEADER
end
local function load(key)
  local piece = redis.call('GETRANGE', key, '0', PIECE_END_TEXT)
  local e, length = blank(key, piece), #piece
  if length < SHORT_HEADER or string.sub(piece, 1, 3) ~= 'QC\1' then
    check_format(piece)
    return e
  end
  if length == PIECE then length = redis.call('STRLEN', key) end
  if not read(e, length) then return blank(key, piece) end
  -- No time is later than can be.
  local made, deadline, failed, guard = e.made, e.deadline, e.failed, e.guard
  e.made, e.deadline = math.min(made, now), math.min(deadline, now + e.ttl)
  e.failed, e.guard = math.min(failed, now), math.min(guard, now + LONGEST_GUARD)
  e.dirty = e.made < made or e.deadline < deadline or e.failed < failed or e.guard < guard
  e.whole = e.kind ~= NOTHING and now >= e.made + e.fresh + e.stale
  if e.whole then e.kind, e.size = NOTHING, 0 end
  return e
end
local function payload(e)
  if e.kind == NOTHING then return '' end
  if e.offset + e.size <= #e.piece then return string.sub(e.piece, e.offset + 1) end
  return redis.call('GETRANGE', e.key, HEADER, -1)
end
-- Until when the token of the lease may be used, if there is one, also one that has ended without a word of its owner.
local function good_until(e)
  return math.min(e.deadline + (GOOD - 1) * e.ttl, now + LONGEST_GUARD)
end
-- The header of an entry, short if its numbers allow, and for how long it is kept: a minute longer than anything in it counts.
local function packed(e)
  local till = math.max(now, e.guard, good_until(e), e.kind ~= NOTHING and e.made + e.fresh + e.stale or 0)
  local kept = math.ceil((till - now) / 1000) + SLACK_MS
  if e.kind ~= NOTHING and e.kind ~= ERROR and e.size <= MOST_SHORT and e.version == e.made and e.last == e.made
    and e.stale + e.delta + e.deadline + e.ttl + e.failed + e.pause + e.guard == 0 then
    return struct.pack(SHORT_FORM, 'QC\1', SHORT + e.kind, e.owner, e.made, e.fresh, e.size), kept
  end
  return struct.pack(FORM, 'QC\1', e.kind, e.owner, e.version, e.last, e.made, e.fresh, e.stale, e.delta, e.deadline, e.ttl,
    e.failed, e.pause, e.guard, e.size), kept
end
-- Tries a command. Whether it was done; if not, the server is full, or refuses whatever is tried next as well.
local function try(...)
  local done = redis.pcall(...)
  local refused = type(done) == 'table' and done.err
  if refused and not string.find(refused, 'OOM') then
    -- Redis 7.0 and before tell only a line, and here that is one for all commands.
    if string.find(refused, 'run this command') then error(refused .. ": run the '" .. (...) .. "' command", 0) end
    -- Again, so that it is refused as if it had not been tried.
    redis.call(...)
  end
  return not refused
end
-- Writes an entry: its header, or with `value` (room for the header, then the payload) all of it. A header that gets the other form
-- is written with its payload, which then is short and was read with it.
-- A full server refuses to write, but not to a script that has written already: what frees the way must pass even then.
-- Invariant: a user who may not call a command is refused before anything changed: writing nothing is refused as well, and
-- nothing is deleted that SET may not replace.
local function save(e, value, freeing)
  local head, kept = packed(e)
  local call = freeing and try or redis.call
  if value or not e.whole then call('SETRANGE', e.key, 0, '') end
  if not value and not e.whole and #head == e.offset then
    redis.call('PEXPIRE', e.key, kept)
    redis.call('SETRANGE', e.key, 0, head)
    return
  end
  local has_room = value and #head == HEADER
  local all = has_room and value or head .. (value and string.sub(value, HEADER + 1) or payload(e))
  if not call('SET', e.key, all, 'PX', kept) then
    redis.call('DEL', e.key)
    redis.call('SET', e.key, all, 'PX', kept)
  end
  if has_room then redis.call('SETRANGE', e.key, 0, head) end
end
