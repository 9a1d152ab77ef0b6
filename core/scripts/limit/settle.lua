-- Settles a hold: charges what it cost above the estimate, whatever the limit, or gives back what it cost less.
-- ARGV[3] actual amount; after the rules: id.  The last field of the reply is 1 if it is settled with this amount.
-- A hold's byte: SPENT or RETURNED say what becomes of it unsettled; SETTLED ones stay for some seconds, so that a
-- repeated settlement gets the same answer.
local actual, settled, write = tonumber(ARGV[3]), 0, false
for at = 1, #holds, HOLD_SIZE do
  local id, since, stop, held, state, counted = struct.unpack(HOLD, holds, at)
  if id == ARGV[ALL_NEXT] and stop < EXACT and since <= stop and held <= MOST then
    if state == SETTLED then
      settled = held == actual and 1 or 0
    else
      local amount, cost = held - actual, actual - held
      if amount > 0 then
        --? refund
      elseif cost > 0 then
        --> charge
      end
      stop = math.min(stop, now + 10000000)
      earliest = math.min(earliest, stop)
      holds = string.sub(holds, 1, at - 1) .. struct.pack(HOLD, id, since, stop, actual, SETTLED, counted)
        .. string.sub(holds, at + HOLD_SIZE)
      settled, write = 1, true
    end
    break
  end
end
