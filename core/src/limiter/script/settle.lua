-- Settles a hold: charges what it cost above the estimate, whatever the limit, or gives back what it cost less.
-- ARGV[3] actual amount; after the rules: id.  The last field of the reply is 1 if it is settled with this amount.
-- A hold's byte: SPENT or RETURNED say what becomes of it unsettled; SETTLED ones stay for some seconds, so that a
-- repeated settlement gets the same answer, and as long as a rule of another policy is owed what it cost less.
local actual, settled, write = ARGV[3] + 0.0, 0, false
for hold = 1, #holds, hold_size do
  local id, since, stop, held, owed, state, counted = struct.unpack(HOLD, holds, hold)
  local sound = stop < EXACT and since <= stop and stop - since <= LONGEST and held <= MOST and owed <= MOST
  if id == ARGV[ALL_NEXT] and sound and stop > now then
    if state == SETTLED then
      settled = held == actual and 1 or 0
    else
      local amount, cost = held - actual, actual - held
      if amount > 0 then
        --? refund
      elseif cost > 0 then
        --> charge
      end
      counted = bit.band(counted, 2 ^ (ALL_COUNT + other_count) - 1 - ALL_MARKS)
      owed = counted > 0 and amount > 0 and amount or 0
      if owed == 0 then counted = 0 end
      stop = math.min(stop, now + SETTLED_FOR)
      earliest = math.min(earliest, owed > 0 and 0 or stop)
      holds = string.sub(holds, 1, hold - 1) .. struct.pack(HOLD, id, since, stop, actual, owed, SETTLED, counted)
        .. string.sub(holds, hold + HOLD_HEAD)
      settled, write = 1, true
    end
    break
  end
end
