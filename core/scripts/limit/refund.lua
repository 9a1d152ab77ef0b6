-- Gives back an amount to every rule that still counts it; a rule never falls below zero.
-- ARGV[3] amount.  ARGV[4] unused.
-- Reply: what a look of cost 1 would answer after it, as answer() in state.lua.
for _, rule in ipairs(rules) do rule.algorithm.refund(rule, tonumber(ARGV[3])) end
if value then save() end
return answer(1, foreign)
