-- Charges a cost to every rule if all admit it, else to none.
-- ARGV[3] cost; negative to look, as a cost of 0 does: then nothing is written.
-- Invariant: a denial charges nothing; it writes only a clamp, the end of a hold, or in place of a value that is not ours.
local cost = ARGV[3] + 0.0
local look = cost <= 0
if look then cost = -cost end
--> wait
local admitted = block_until <= now
--[each]
if wait_1 ~= 0 then admitted = false end
--[end]
local charged = admitted and not look
local write = charged or dirty and not look
if charged then
  --> charge
end
