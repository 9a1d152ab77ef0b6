-- Gives back an amount to every rule that still counts it; a rule never falls below zero.
-- ARGV[3] amount.  ARGV[4] unused.  The answer is what a look of cost 1 after it would get.
for _, rule in ipairs(rules) do
  rule[6].weigh(rule, 1)
  rule[6].apply(rule, -tonumber(ARGV[3]))
  rule[8] = rule[6].weigh(rule, 1)
end
local write = value
