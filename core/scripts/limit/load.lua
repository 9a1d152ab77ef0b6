-- Reads the state of a limiter's key and brings it to now. Included after the clock, before a transition.
-- KEYS[1] the key.  ARGV: what a state of this policy begins with; then per rule: limit, period, for a token-bucket
-- capacity.
-- Value: 'QL' version, how many rules, the name of each: id, limit, period, for a token-bucket capacity (7 bytes each), so
-- that no rule is taken for another; then the words of each (unsigned 64 bit, little endian). Behind those of this policy
-- are the rules that another policy of this name has. With a sliding-log
-- the log (see log.lua); if the key is blocked, a record 0: length, until; if amounts are held, a
-- record 251: the earliest and the latest end, the latest beginning, which rules count any, how many; then the holds, each
-- 16 bytes of id, beginning, end, amount, what is owed to rules of another policy, a byte for what becomes of it (see
-- settle.lua), and which rules count it: a bit for each, until the rule is as new again; then for each token-bucket when it
-- will have filled it again, and the fraction.
-- Invariant: a value that is not ours counts as none.
local EXACT, MOST, LONGEST = 9007199254740992, 4503599627370496, 3153600000000000
local HOLD, HOLD_HEAD, SPENT, RETURNED, SETTLED = '<c16I8I8I8I8BI4', 53, 0, 1, 2
--[straight]
local heading = ALL_HEADING
--[each]
local arguments_1 = values_1
local words_1 = zeros_1
local wait_1, left_1, reset_1 = 0, 0, 0
--[end]
--[log]
--@ log
--[end]
--[end]
--[looped]
--@ rules
--@ log
--[end]
--> helpers
--> constants
local foreign, dirty, block_length, block_until = false, false, 0, 0
local holds, hold_size, earliest, latest, newest, marks = '', ALL_HOLD_SIZE, 0, 0, 0, 0
local other_count, other_names, other_words, others_until, ends = 0, '', '', 0, nil
local value
--[log]
-- Only what stands before the log, which may be long.
value = redis.call('GETRANGE', KEYS[1], '0', ALL_END)
if value == '' then value = nil end
--[end]
--[plain]
value = redis.call('GET', KEYS[1])
--[end]
if value then
  -- The usual case: just these rules.
  local fits = ALL_FITS and string.sub(value, 1, ALL_PREFIX) == heading
  if fits then
    --[straight]
    ALL_WORDS = struct.unpack('ALL_FORMAT', value, ALL_PREFIX + 1)
    --[each]
    fits = fits and sum_1 < EXACT
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
    fits = fits and id == 250 and stop == base + ENTRY * room and next < EXACT and sum < WRAP and last < EXACT
    --> fits
    --[end]
  end
  if not fits then
    --@ place
    --> carry
    if block_until > now + block_length then
      block_until, dirty = now + block_length, true
    end
  end
end
--[log]
--@ collapse
--[end]
--> settle
if holds ~= '' then
  local over = 0
  --[each]
  if fresh_1 and bit.band(marks, MARK_1) > 0 then over = over + MARK_1 end
  --[end]
  if earliest <= now or newest > now or over > 0 then
    --@ expire
  end
end
