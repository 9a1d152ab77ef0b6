-- The general way to read a state: the policy changed, there is a block or a hold, or the value is not ours.
-- Included in load: takes `value`, sets the rest. What is said of an algorithm here is asked of its own file.
local counts, sizes = ALL_WORD_COUNTS, ALL_NAME_SIZES
--[straight]
local is_bucket, is_log = ALL_BUCKETS, ALL_LOGS
--[end]
local records, sources, layout, position, stage, log, buckets = {}, {}, {}, 5, 0, nil, 0
--@ decode
if foreign then
  records, block_length, block_until, dirty = {}, 0, 0, true
  holds, earliest, latest, newest, marks = '', 0, 0, 0, 0
end
-- When each has nothing to say any more, which a TTL may have told already. Of a log that cannot be told without its rule.
for _, record in ipairs(records) do
  local kind, words, stop, back = record.kind, record.words, 0, false
  --* ends
  dirty = dirty or back and stop > now
  record.stop = stop
end
--@ match
--@ rearrange
