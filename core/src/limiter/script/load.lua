-- Brings the state of a limiter's key to now. Included after read, before a transition.
-- KEYS[1] the key.  ARGV: what a state of this policy begins with; then per rule: limit, period, for a token-bucket
-- capacity.
-- What is stored: see ../README.md.
-- Invariant: a value that is not ours counts as none.
local HOLD = '<c16I8I8I8I8BI4'
--[straight]
local heading = ALL_HEADING
--[each]
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = ZEROS_1
local wait_1, left_1, reset_1 = 0, 0, 0
--[end]
--[log]
--@ log
--[end]
--[end]
--[looped]
--@ log
--[end]
--> helpers
--> constants
local foreign, dirty, block_length, block_until = false, false, 0, 0
local holds, hold_size, earliest, latest, newest, marks = '', ALL_HOLD_SIZE, 0, 0, 0, 0
local other_count, names, other_size, others_until, others, other_log, ends = 0, nil, 0, 0, nil, nil, nil
if value == '' then value = nil end
if value then
  -- The usual case: just these rules.
  local fits = ALL_FITS and string.sub(value, 1, ALL_PREFIX) == heading
  if fits then
    --[straight]
    ALL_WORDS = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
    --[each]
    fits = fits and SUM_1 < EXACT
    --[end]
    --[end]
    --[looped]
    local words, number = {struct.unpack(format, value, ALL_PREFIX + 1)}, 0
    for _, rule in ipairs(list) do
      local together = 0
      for _, word in ipairs(word_names[rule.id]) do
        number = number + 1
        rule[word], together = words[number], together + words[number]
      end
      fits = fits and together < EXACT
    end
    --[end]
    --[log]
    local id, stop
    id, next, sum, last, room, stop, base = struct.unpack(LOG, value, ALL_LOG)
    base = base - 1
    fits = fits and id == LOG_RECORD and stop == base + ENTRY * room and next < EXACT and sum < WRAP and last < EXACT
    --> fits
    --[end]
  end
  if not fits then
    --@ migrate
    --> carry
    if block_until > now + block_length then
      block_until, dirty = now + block_length, true
    end
  end
end
--[log]
--@ collapse
--> trim
if other_count > 0 then
  for _, record in ipairs(others) do
    local kind, words = record.kind, record.words
    --* trim
    --* most
  end
end
--[end]
--> settle
if holds ~= '' then
  local over = 0
  --[each]
  if FRESH_1 and bit.band(marks, MARK_1) > 0 then over = over + MARK_1 end
  --[end]
  if earliest <= now or newest > now or over > 0 then
    --@ expire
  end
end
