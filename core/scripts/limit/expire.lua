-- Ends the holds whose time is over: what nobody settled counts as spent, or is returned if the caller chose so.
-- A rule that is as new counts no hold any more. Included in load: takes `over`, the rules that are as new.
-- A hold from the future begins now: the clock went back. One that makes no sense is dropped.
local remaining
earliest, latest, newest, marks, remaining, dirty = EXACT, 0, 0, 0, {}, true
for place = 1, #holds, HOLD_SIZE do
  local id, since, stop, amount, state, filled, counted = struct.unpack(HOLD, holds, place)
  if stop < EXACT and since <= stop and amount <= MOST then
    counted = counted - bit.band(counted, over)
    if since > now then
      since, stop = now, now + stop - since
    end
    if stop > now then
      remaining[#remaining + 1] = struct.pack(HOLD, id, since, stop, amount, state, filled, counted)
      earliest, latest, newest = math.min(earliest, stop), math.max(latest, stop), math.max(newest, since)
      marks = bit.bor(marks, counted)
    elseif state == RETURNED then
      --? refund
    end
  end
end
-- What came back may have made rules as new.
over = 0
--[each]
if fresh_1 and bit.band(marks, MARK_1) > 0 then over = over + MARK_1 end
--[end]
if over > 0 then
  for n, hold in ipairs(remaining) do
    local counted = struct.unpack('<I2', hold, HOLD_SIZE - 1)
    remaining[n] = string.sub(hold, 1, HOLD_SIZE - 2) .. struct.pack('<I2', counted - bit.band(counted, over))
  end
  marks = marks - over
end
holds = table.concat(remaining)
