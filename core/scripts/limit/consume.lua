-- Charges a cost to every rule if all admit it, else to none.
-- ARGV[3] cost.  ARGV[4] '1' to charge, '0' to look: then nothing is written.
-- Reply: as answer() in state.lua. Invariant: a denial charges nothing; it writes only a clamp or a healed value.
local cost, charging = tonumber(ARGV[3]), ARGV[4] == '1'
local admitted = block_left() == 0
for _, rule in ipairs(rules) do
  rule.wait = rule.algorithm.wait(rule, cost)
  admitted = admitted and rule.wait == 0
end
if charging and admitted then
  for _, rule in ipairs(rules) do rule.algorithm.charge(rule, cost) end
  save()
elseif charging and dirty then
  save()
end
return answer(cost, charging and foreign)
