-- Reads the state of a limiter's key and brings it to now. Included after the clock, before a transition.
-- KEYS[1] the key.  ARGV[4..] per rule: limit, period, for a token-bucket capacity.
-- Value: 'QL' version, then a record per rule: id, period, its words (unsigned 64 bit, little endian), and those of rules
-- that another policy of this name has; with a sliding-log
-- the log (see log.lua); if the key is blocked, a record 0: length, until; if amounts are held, a
-- record 251: the earliest and the latest end, the latest beginning, which rules count any, how many; then the holds, each
-- 16 bytes of id, beginning, end, amount, a byte for what becomes of it (see settle.lua), when a bucket
-- will have filled it again, and which rules count it: a bit for each, until the rule is as new again.
-- Invariant: a value that is not ours counts as none.
local EXACT, MOST = 9007199254740992, 4503599627370496
local HOLD, HOLD_SIZE, SPENT, RETURNED, SETTLED = '<c16I8I8I8BI8I2', 51, 0, 1, 2
--[each]
local arguments_1 = values_1
local words_1 = zeros_1
local kept_1, wait_1, left_1, reset_1 = period_1, 0, 0, 0
--[end]
--[log]
--@ log
--[end]
--> helpers
--> constants
local foreign, dirty, block_length, block_until = false, false, 0, 0
local holds, earliest, latest, newest, marks = '', 0, 0, 0, 0
local others, others_until = '', 0
--[log]
-- Only what stands before the log, which may be long.
local value = redis.call('GETRANGE', KEYS[1], '0', 'ALL_END')
if value == '' then value = nil end
--[end]
--[plain]
local value = redis.call('GET', KEYS[1])
--[end]
if value then
  -- The usual case: just the records of these rules. `from` is false once it is not.
  local from = ALL_FITS and string.sub(value, 1, 3) == 'QL\1' and 4
  local id, period
  --[each]
  if from then
    id, period, words_1, from = struct.unpack(FORMAT_1, value, from)
    from = id == ID_1 and period == period_1 and sum_1 < EXACT and from
  end
  --[end]
  --[log]
  if from then
    local stop
    id, next, sum, last, room, stop, from = struct.unpack(LOG, value, from)
    base = from - 1
    from = id == 250 and stop == base + ENTRY * room and next < EXACT and sum < WRAP and last < EXACT and from
    --> fits
  end
  --[end]
  if not from then
    local found, rules = {}, {}
    --[each]
    rules[N_1], found[N_1] = {ID_1, period_1}, {zeros_1, period_1}
    --[end]
    --@ place
    --[each]
    words_1, kept_1 = unpack(found[N_1])
    --[end]
    dirty = foreign
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
