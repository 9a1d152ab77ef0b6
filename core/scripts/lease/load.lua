-- Reads lease tables and brings them to now. Included after the clock; what is read is written by save.
-- Value: 'QK' version, the last token (I8), the bytes of tombstones (I4), the number of waiters (I2); then tombstones:
-- id (c16), until (I8); waiters: id, until, since (I8), weight (I4), how (B: 1 for a hint, 2 in order; 128 more once it
-- was told), channel (c16); holders: id, deadline, ttl, token, since (I8), weight (I4), who (I2 and as many bytes).
-- Invariant: a value of another form counts as none; what is over is gone, and so is the holder `leaving`.
local HEARTBEAT, MOST, DAY, LONGEST, EXACT = 1500000, 1024, 86400000, 3700000000, 9007199254740992
local TOMBSTONE, WAITER, HOLDER = 24, 53, 54
-- The records from `at` to `stop` but what is cut out between: a list of from, to and what stands there now.
local function cut(value, at, stop, cuts)
  local pieces = {}
  for n = 1, #cuts, 3 do
    pieces[n], pieces[n + 1], pieces[n + 2] = string.sub(value, at, cuts[n] - 1), cuts[n + 2], ''
    at = cuts[n + 1]
  end
  pieces[#pieces + 1] = string.sub(value, at, stop)
  return table.concat(pieces)
end
local function parse(value, leaving)
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
  local t = {last = last, tombstones = string.sub(value, at, first - 1), dirty = false, left = false}
  local cuts = {}
  for from = first, stop - 1, WAITER do
    local till, since, _, how = struct.unpack('<I8I8I4B', value, from + 16)
    if till >= EXACT or since >= EXACT or how % 128 ~= 1 and how % 128 ~= 2 then return nil end
    local mended = till > now + HEARTBEAT or since > now
    if mended then till, since, t.dirty = math.min(till, now + HEARTBEAT), math.min(since, now), true end
    local n = #cuts
    if till <= now then
      cuts[n + 1], cuts[n + 2], cuts[n + 3] = from, from + WAITER, ''
    elseif mended then
      cuts[n + 1], cuts[n + 2], cuts[n + 3] = from + 16, from + 32, struct.pack('<I8I8', till, since)
    end
  end
  t.waiters = cut(value, first, stop - 1, cuts)
  local count, held, earliest, latest, gone = 0, 0, EXACT, now, leaving ~= '' and 0
  at, cuts = stop, {}
  while at <= #value do
    if at + HOLDER > #value + 1 then return nil end
    local deadline, ttl, token, since, weight, size = struct.unpack('<I8I8I8I8I4I2', value, at + 16)
    local after = at + HOLDER + size
    if after > #value + 1 or deadline >= EXACT or ttl >= EXACT or token >= EXACT or since >= EXACT then return nil end
    -- An id is looked for in all bytes at once, and counts where a record begins.
    if gone and gone < at then gone = string.find(value, leaving, at, true) end
    local mended = deadline > now + ttl or since > now
    if mended then deadline, since, t.dirty = math.min(deadline, now + ttl), math.min(since, now), true end
    local n = #cuts
    if deadline <= now or at == gone then
      t.left = t.left or deadline > now
      cuts[n + 1], cuts[n + 2], cuts[n + 3] = at, after, ''
    else
      if mended then
        cuts[n + 1], cuts[n + 2], cuts[n + 3] = at + 16, at + 48, struct.pack('<I8I8I8I8', deadline, ttl, token, since)
      end
      count, held = count + 1, held + weight
      if deadline < earliest then earliest = deadline end
      if deadline > latest then latest = deadline end
    end
    at = after
  end
  t.holders, t.count, t.held, t.earliest, t.latest = cut(value, stop, #value, cuts), count, held, earliest, latest
  return t
end
-- The tables of all keys; nothing is written before each was read.
local function load_all(leaving)
  local tables = {}
  for n = 1, #KEYS do
    local value = redis.call('GET', KEYS[n])
    local t = value and parse(value, leaving) or {
      last = 0, tombstones = '', waiters = '', holders = '', count = 0, held = 0, earliest = EXACT, latest = now,
      dirty = false, left = false, foreign = value,
    }
    t.key, tables[n] = KEYS[n], t
  end
  return tables
end
