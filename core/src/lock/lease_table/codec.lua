-- Reads the value of a lease table and brings it to now. Included after the clock. What is stored: see ../README.md.
-- Invariant: a value of another form counts as none; what is over is gone, and so is the holder `leaving`.
local string, math = string, math
local NONE = 'QK\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
-- Behind the id. Of a waiter: until, since, weight, how it waits; of a holder: deadline, ttl, token, since, weight, bytes of
-- who.
local WAITS, HOLDS = '<I8I8I4B', '<I8I8I8I8I4I2'
-- The bytes from `at` to `stop` with some replaced: `cuts`, if any, is a list of from, behind and what stands there now.
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
-- Those who wait still, or none if one of them cannot be.
local function waiting(t, value, first, stop)
  local cuts
  for at = first, stop - 1, WAITER do
    local till, since, _, how = struct.unpack(WAITS, value, at + 16)
    if till >= EXACT or since >= EXACT or how % TOLD ~= 1 and how % TOLD ~= 2 then return nil end
    local mended = till > now + HEARTBEAT or since > now
    if mended then t.dirty = true end
    if till <= now then
      cuts = noted(cuts, at, at + WAITER, '')
    elseif mended then
      local times = struct.pack('<I8I8', math.min(till, now + HEARTBEAT), math.min(since, now))
      cuts = noted(cuts, at + 16, at + 32, times)
    end
  end
  return cut(value, first, stop - 1, cuts)
end
-- Those who hold still, or none if one of them cannot be; counts them.
local function holding_still(t, value, first, leaving)
  local at, cuts, gone = first, nil, leaving ~= '' and 0
  local count, held, earliest, latest = 0, 0, EXACT, now
  while at <= #value do
    if at + HOLDER > #value + 1 then return nil end
    local deadline, ttl, token, since, weight, size = struct.unpack(HOLDS, value, at + 16)
    local behind = at + HOLDER + size
    if behind > #value + 1 or deadline >= EXACT or ttl >= EXACT or token >= EXACT or since >= EXACT then return nil end
    -- An id is looked for in all bytes at once, and counts where a record begins.
    if gone and gone < at then gone = string.find(value, leaving, at, true) end
    local mended = deadline > now + ttl or since > now
    if mended then deadline, since = math.min(deadline, now + ttl), math.min(since, now) end
    -- Also of one that is over: else a clock that goes back would let it hold again.
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
-- A table, or none if the value is not ours. Other fields are set by those who use them.
local function parse(key, value, leaving)
  if #value < HEAD or string.sub(value, 1, 3) ~= 'QK\1' then return check_format(value) end
  local last, tombstones, waiters, at = struct.unpack('<I8I4I2', value, 4)
  local first = at + tombstones
  local stop = first + WAITER * waiters
  if last >= EXACT or tombstones % TOMBSTONE > 0 or tombstones > TOMBSTONE * MOST_TOMBSTONES
    or waiters > MOST_WAITERS or stop > #value + 1 then return nil end
  local t = {
    key = key, last = last, tombstones = '', waiters = '', holders = '', count = 0, held = 0, earliest = EXACT, latest = now,
    dirty = false, left = false, foreign = false, changed = false, freed = false, freeing = false, told = false, full = false,
    refuses = false, held_at = nil, waits_at = nil,
  }
  -- Tombstones end in the order in which they were set.
  while at < first do
    local till = struct.unpack('<I8', value, at + 16)
    if till > now and till <= now + LONGEST_TOMBSTONE then break end
    at = at + TOMBSTONE
  end
  t.tombstones, t.waiters = string.sub(value, at, first - 1), waiting(t, value, first, stop)
  t.holders = t.waiters and holding_still(t, value, stop, leaving)
  return t.holders and t
end
