-- Charges as much as is admitted now, up to an amount.
-- ARGV[3] the most.  The last field of the reply is what was charged; if nothing, the answer is that of a cost of 1.
local taken = block_until <= now and ARGV[3] + 0.0 or 0
--> show
--[each]
if left_1 < taken then taken = left_1 end
--[end]
local charged = taken > 0
local cost = charged and taken or 1
--> wait
local write = charged or dirty
if charged then
  --> charge
else
  taken = 0
end
