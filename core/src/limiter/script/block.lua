-- Denies everything for a time; replaces an earlier block.
-- ARGV[3] length in microseconds.  The answer is what a look of cost 1 after it would get.
local cost, write = 1, true
--> wait
block_length = ARGV[3] + 0.0
block_until = now + block_length
