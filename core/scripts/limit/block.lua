-- Denies everything for a time; replaces an earlier block.
-- ARGV[3] length in microseconds.  ARGV[4] unused.
-- Reply: what a look of cost 1 would answer after it, as answer() in state.lua.
block_length = tonumber(ARGV[3])
block_until = now + block_length
save()
return answer(1, foreign)
