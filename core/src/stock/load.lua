-- Reads a sale. Included after form.
-- The sale whose first key is at a place in KEYS, and what stands in one more field; none if it is not open.
local function load(at, field)
  local got = redis.call('HMGET', KEYS[at], '', field)
  local value = got[1]
  if not value then return nil end
  if #value ~= SIZE or string.sub(value, 1, 3) ~= 'QS\1' then return check_format(value) end
  local flags, per_buyer, ends, retention, cap, first, available, held, sold, entries, seen, offset, due, kept, buyers =
    struct.unpack('<BI8I8I8I8I8I8I8I8I8I8i8I8I8I8', value, 4)
  local time = now + offset
  -- Who asks for a sale keeps it.
  local dirty = kept < time + retention / 2
  if time < seen then offset, time, dirty = offset + seen - time, seen, true end
  return {
    at = at, head = string.sub(value, 1, 36), more = got[2], prized = flags % 2 == 1, per_buyer = per_buyer, ends = ends,
    retention = retention, cap = cap, available = available, held = held, sold = sold, entries = entries, now = time,
    offset = offset, due = due, kept = kept, buyers = buyers, first = first, dirty = dirty, latest = time,
    renew = false, closed = flags > 1, ended = flags > 1 or ends > 0 and now >= ends,
  }
end
