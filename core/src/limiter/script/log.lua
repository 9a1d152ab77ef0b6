-- The log of a key: one for all its sliding-log rules, a ring of entries in the middle of the value.
-- Record 250: the number of the next entry, the sum of all costs, the time of the last entry, the ring's slots, and where
-- the value ends. Entry: time (7 bytes), sum of all costs up to and with it (5 bytes, it wraps). Entry n lies in slot
-- n % room, at `base`; the last one is (last, sum) and never read. Included in load.
local LOG = '<BI8I8I8I8I8'
local next, sum, last, room, base, logged, added = 0, 0, 0, 0, 0, false, 0
-- Time and sum of an entry. What is cut off counts as over.
local function entry(number)
  if number == next - 1 then return last, sum end
  local from = base + ENTRY * (number % room)
  local bytes = redis.call('GETRANGE', KEY, from, from + ENTRY - 1)
  if #bytes < ENTRY then return 0, sum end
  return struct.unpack('<I7I5', bytes)
end
-- The first entry after `low` that is younger than an edge, or after which no more than `most` is left: its number, time
-- and sum, and the sum of the one before it. `low`, with its sum, is none of that. Steps that double, then halves.
local function beyond(low, gone, edge, most)
  local high, step, time, total = next, 1, 0, 0
  local function before(number)
    local stamp, charged = entry(number)
    local is
    if edge then is = stamp <= edge else is = (sum - charged) % WRAP > most end
    if is then low, gone = number, charged else high, time, total = number, stamp, charged end
    return is
  end
  while low + step < high and before(low + step) do step = step * 2 end
  while high - low > 1 do before(low + (high - low - (high - low) % 2) / 2) end
  return high, time, total, gone
end
