-- Denies everything for a time; replaces an earlier block.
-- ARGV[3] length in microseconds.  ARGV[4] unused.  The answer is what a look of cost 1 after it would get.
for _, rule in ipairs(rules) do rule[8] = rule[6].weigh(rule, 1) end
block_length = tonumber(ARGV[3])
block_until = now + block_length
local write = true
