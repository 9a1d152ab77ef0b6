-- One of several charges: decides, then waits to hear whether all are admitted. See all.lua.
-- ARGV[at] its cost, and behind it what a single call is told from the heading on.
local cost = ARGV[at] + 0.0
--> wait
local admitted = block_until <= now
--[each]
if wait_1 ~= 0 then admitted = false end
--[end]
local charged = pause(admitted, ALL_NEXT) and admitted
local write = charged or dirty
if charged then
  --> charge
end
