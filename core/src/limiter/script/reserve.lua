-- Charges an estimate as consume does, and holds it until it is settled or its time is over.
-- ARGV[3] estimate; after the rules: id (16 bytes), length in microseconds, what becomes of it unsettled.
local cost = ARGV[3] + 0.0
--> wait
local admitted = block_until <= now
--[each]
if wait_1 ~= 0 then admitted = false end
--[end]
local write = admitted or dirty
if admitted then
  --> charge
  local filled = ''
  --> filled
  local stop = now + ARGV[ALL_NEXT + 1]
  earliest = holds ~= '' and math.min(earliest, stop) or stop
  latest, newest, marks = math.max(latest, stop), now, bit.bor(marks, ALL_MARKS)
  holds = holds .. struct.pack(HOLD, ARGV[ALL_NEXT], now, stop, cost, 0, ARGV[ALL_NEXT + 2] + 0.0, ALL_MARKS)
    .. filled .. string.rep('\0', hold_size - HOLD_HEAD - #filled)
end
