-- Charges an estimate as consume does, and holds it until it is settled or its time is over.
-- ARGV[3] estimate; after the rules: id (16 bytes), length in microseconds, what becomes of it unsettled.
local cost = tonumber(ARGV[3])
--> wait
local admitted = block_until <= now
--[each]
if wait_1 ~= 0 then admitted = false end
--[end]
local write = admitted or dirty
if admitted then
  --> charge
  local filled = 0
  --> filled
  local stop = now + tonumber(ARGV[ALL_NEXT + 1])
  earliest = holds ~= '' and math.min(earliest, stop) or stop
  latest, newest, marks = math.max(latest, stop), now, ALL_MARKS
  holds = holds .. struct.pack(HOLD, ARGV[ALL_NEXT], now, stop, cost, tonumber(ARGV[ALL_NEXT + 2]), filled,
    ALL_MARKS)
end
