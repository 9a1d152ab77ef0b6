-- Charges a cost to every rule if all admit it, else to none.
-- ARGV[3] cost.  ARGV[4] '1' to charge, '0' to look: then nothing is written.
-- Invariant: a denial charges nothing; it writes only a clamp or in place of a value that is not ours.
local cost = tonumber(ARGV[3])
local admitted = block_until <= now
for i = 1, #rules do
  local rule = rules[i]
  local wait, clamped = rule[6].weigh(rule, cost)
  rule[8] = wait
  if wait ~= 0 then admitted = false end
  if clamped then dirty = true end
end
local write = ARGV[4] == '1' and (admitted or dirty)
if write and admitted then
  for i = 1, #rules do rules[i][6].apply(rules[i], cost) end
end
