-- Gives each rule its share of the holds at its place of now. Included in migrate.
-- `layout` says of each rule, and of those kept for another policy, which record it was, or false.
local moved, old_size, nothing = #layout ~= #records, hold_size, string.rep('\0', FILLED_SIZE)
buckets = 0
for n, record in ipairs(layout) do
  moved = moved or not record or record.index ~= n
  if is_bucket[(rules[n] or record).kind] then buckets = buckets + 1 end
end
hold_size = HOLD_HEAD + FILLED_SIZE * buckets
if moved and holds ~= '' then
  local arranged = {}
  marks = 0
  for hold = 1, #holds, old_size do
    local counted, new, shares = struct.unpack('<I4', holds, hold + HOLD_HEAD - 4), 0, ''
    for n, record in ipairs(layout) do
      if record and bit.band(counted, 2 ^ (record.index - 1)) > 0 then new = new + 2 ^ (n - 1) end
      if is_bucket[(rules[n] or record).kind] then
        shares = shares .. (record and string.sub(holds, hold + record.slot, hold + record.slot + FILLED_SIZE - 1) or nothing)
      end
    end
    marks = bit.bor(marks, new)
    arranged[#arranged + 1] = string.sub(holds, hold, hold + HOLD_HEAD - 5) .. struct.pack('<I4', new) .. shares
  end
  holds = table.concat(arranged)
end
