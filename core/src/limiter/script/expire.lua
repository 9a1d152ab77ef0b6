-- Ends the holds whose time is over: what nobody settled counts as spent, or is returned if the caller chose so.
-- A rule that is as new counts no hold any more. Included in load: takes `over`, the rules that are as new.
-- A hold from the future begins now: the clock went back. One that makes no sense is dropped. What a rule of another policy
-- is to get back waits for that policy, or for that rule's end.
local remaining, every = {}, 2 ^ (ALL_COUNT + other_count) - 1
earliest, latest, newest, marks, dirty = EXACT, 0, 0, 0, true
for hold = 1, #holds, hold_size do
  local id, since, stop, held, owed, state, counted = struct.unpack(HOLD, holds, hold)
  if stop < EXACT and since <= stop and stop - since <= LONGEST and held <= MOST and owed <= MOST then
    counted = bit.band(counted, every - over)
    if since > now then
      -- Their sum may be beyond what a number holds exactly.
      since, stop = now, now + (stop - since)
    end
    local amount = state == SETTLED and owed or state == RETURNED and stop <= now and held or 0
    if amount > 0 then
      --? refund
      counted = counted - bit.band(counted, ALL_MARKS)
    end
    local waits = amount > 0 and counted > 0
    if state == SETTLED and not waits then owed, counted = 0, 0 end
    if stop > now or waits then
      remaining[#remaining + 1] = struct.pack(HOLD, id, since, stop, held, owed, state, counted)
        .. string.sub(holds, hold + HOLD_HEAD, hold + hold_size - 1)
      earliest, latest, newest = math.min(earliest, waits and 0 or stop), math.max(latest, stop), math.max(newest, since)
      marks = bit.bor(marks, counted)
    end
  end
end
-- What came back may have made rules as new.
over = 0
--[each]
if FRESH_1 and bit.band(marks, MARK_1) > 0 then over = over + MARK_1 end
--[end]
if over > 0 then
  for n, hold in ipairs(remaining) do
    local counted = struct.unpack('<I4', hold, 50)
    remaining[n] = string.sub(hold, 1, 49) .. struct.pack('<I4', bit.band(counted, every - over)) .. string.sub(hold, 54)
  end
  marks = marks - over
end
holds = table.concat(remaining)
