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
-- When each has nothing to say any more, which a TTL may have told already. It is kept for its policy for a period longer; one
-- with a log, which others charge too, for a period after its last own charge.
for _, record in ipairs(records) do
  local kind, words, stop, back, copied = record.kind, record.words, 0, false, false
  --* ends
  dirty = dirty or back and stop > now
  record.stop, record.copied = stop, copied
  record.kept = stop > 0 and (record.own_last or stop) + record.whole > now and (stop > now or not is_log[kind])
end
--@ match
--@ rearrange
