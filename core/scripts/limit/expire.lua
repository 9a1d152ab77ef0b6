-- Ends the holds whose time is over: what nobody settled counts as spent, or is returned if the caller chose so.
-- Included in load. A hold from the future begins now: the clock went back. One that makes no sense is dropped.
local kept
earliest, latest, newest, kept, dirty = EXACT, 0, 0, {}, true
for place = 1, #holds, HOLD_SIZE do
  local id, since, stop, amount, state = struct.unpack(HOLD, holds, place)
  if stop < EXACT and since <= stop and amount <= MOST then
    if since > now then
      since, stop = now, now + stop - since
    end
    if stop > now then
      kept[#kept + 1] = struct.pack(HOLD, id, since, stop, amount, state)
      earliest, latest, newest = math.min(earliest, stop), math.max(latest, stop), math.max(newest, since)
    elseif state == RETURNED then
      --> refund
    end
  end
end
holds = table.concat(kept)
