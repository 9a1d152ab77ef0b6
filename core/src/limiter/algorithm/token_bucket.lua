-- token-bucket: `capacity` tokens at most, filled at `limit` per `period`, as GCRA: the theoretical arrival time (TAT) is
-- the time at which the bucket is full again. limit and period come reduced, so that T = period/limit is exact in
-- fractions of 1/limit microsecond: TAT is tat + part/limit. Every product stays below 2^53 (the core sees to it).
-- Words: tat, part, the last charge; of a bucket that was filled by what was given back: 0, 0, and when that was. Invariant after settle: all 0, or now < TAT <= last + capacity * T and last <= now.
--> simple
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
local used = tat_1 - now
if used > 0 and last_1 <= now and part_1 < limit_1 and cost <= capacity_1 and SUM_1 < EXACT then
  -- The time in which the whole capacity is filled, and the cost's.
  local full, full_part, taken, part = capacity_1 * period_1, 0, cost * period_1, part_1
  if limit_1 > 1 then
    local step_part = period_1 % limit_1
    local step, rest = (period_1 - step_part) / limit_1, capacity_1 * step_part
    full_part = rest % limit_1
    full = capacity_1 * step + (rest - full_part) / limit_1
    part = part_1 + cost * step_part
    rest = part % limit_1
    taken, part = cost * step + (part - rest) / limit_1, rest
  end
  local ahead, needed, charged = tat_1 - last_1, 0, not look
  if used + taken > full or used + taken == full and part > full_part then
    needed, charged = used + taken - full + (part > full_part and 1 or 0), false
  end
  if charged then used = used + taken else part = part_1 end
  local missing = used * limit_1 + part
  if (ahead < full or ahead == full and part_1 <= full_part) and missing < EXACT then
    local rest = missing % period_1
    wait, left, reset = needed, capacity_1 - (missing - rest) / period_1, used
    if rest > 0 then left = left - 1 end
    if part > 0 then reset = reset + 1 end
    if charged then
      bytes, ttl = struct.pack(ALL_FORMAT, now + used, part, now), math.ceil(reset / 1000) + 1
      if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
    end
  end
end
--> ends
back, last_1 = last_1 > now, math.min(last_1, now)
local full = last_1 + math.min(math.ceil(capacity_1 * period_1 / limit_1), LONGEST) + 1
if tat_1 > full then tat_1, part_1 = full, 0 end
stop = tat_1 > 0 and tat_1 + (part_1 > 0 and 1 or 0) or last_1
--> constants
-- T, and the time in which the whole capacity is filled.
local step_1, step_part_1, full_1, full_part_1 = period_1, 0, capacity_1 * period_1, 0
if limit_1 > 1 then
  step_part_1 = period_1 % limit_1
  step_1, full_part_1 = (period_1 - step_part_1) / limit_1, capacity_1 * step_part_1
  full_1 = capacity_1 * step_1 + (full_part_1 - full_part_1 % limit_1) / limit_1
  full_part_1 = full_part_1 % limit_1
end
--> carry
local kept = sources[N_1]
if kept and not kept.own and (kept.limit ~= limit_1 or kept.period ~= period_1) then
  -- Another rate: the tokens taken stay taken, and fill again as fast as they now do.
  local function refilled(filled, part)
    -- In units of the old bucket, then of this one: exact, unless they are too many.
    local taken = (filled - last_1) * kept.limit + part
    local wanted = taken * period_1
    if taken < EXACT and wanted < EXACT then
      local rest = wanted % kept.period
      wanted = (wanted - rest) / kept.period + (rest > 0 and 1 or 0)
      rest = wanted % limit_1
      return last_1 + (wanted - rest) / limit_1, rest
    end
    local ahead = filled - last_1 + part / kept.limit
    ahead = ahead * kept.limit / kept.period * period_1 / limit_1
    return last_1 + math.min(math.ceil(ahead), full_1 + 1), 0
  end
  if tat_1 >= last_1 then tat_1, part_1 = refilled(tat_1, part_1) else part_1 = 0 end
  for hold = 1, #holds, hold_size do
    local filled, part = struct.unpack('<I8I8', holds, hold + FILLED_1)
    if filled >= last_1 then
      holds = string.sub(holds, 1, hold + FILLED_1 - 1) .. struct.pack('<I8I8', refilled(filled, part))
        .. string.sub(holds, hold + FILLED_1 + FILLED_SIZE)
    end
  end
end
--> settle
local back = last_1 > now
if back then last_1 = now end
if part_1 >= limit_1 then part_1 = 0 end
-- It was never emptier than empty at its last charge: the capacity was larger, or the clock went back.
if tat_1 - last_1 > full_1 or tat_1 - last_1 == full_1 and part_1 > full_part_1 then
  tat_1, part_1 = last_1 + full_1, full_part_1
end
if tat_1 < now or tat_1 == now and part_1 == 0 then
  tat_1, part_1, last_1 = 0, 0, 0
elseif back then
  dirty = true
end
--> wait
if cost > capacity_1 then
  wait_1 = -1
else
  local part = part_1 + cost * step_part_1
  local missing = (tat_1 > 0 and tat_1 - now or 0) + cost * step_1 + (part - part % limit_1) / limit_1 - full_1
  part = part % limit_1 - full_part_1
  if missing > 0 or missing == 0 and part > 0 then
    wait_1 = missing + (part > 0 and 1 or 0)
  end
end
--> charge
local taken_1 = cost
if taken_1 > capacity_1 then taken_1 = capacity_1 end
part_1 = part_1 + taken_1 * step_part_1
tat_1 = (tat_1 > 0 and tat_1 or now) + taken_1 * step_1 + (part_1 - part_1 % limit_1) / limit_1
part_1, last_1 = part_1 % limit_1, now
-- More than what is left is only ever charged by a settlement; it empties the bucket.
if tat_1 - now > full_1 or tat_1 - now == full_1 and part_1 > full_part_1 then
  tat_1, part_1 = now + full_1, full_part_1
end
--> filled
filled = filled .. struct.pack('<I8I8', tat_1, part_1)
--> refund
-- What is above the capacity changes nothing, but would leave the exact range.
local given = math.min(amount, capacity_1)
local rest = given * step_part_1
local time = given * step_1 + (rest - rest % limit_1) / limit_1
rest = rest % limit_1
if hold then
  -- Of a hold no more comes back than was not filled again since.
  local open, part = struct.unpack('<I8I8', holds, hold + FILLED_1)
  if open < now or part >= limit_1 then part = 0 end
  open = open < now and 0 or open - now
  if time > open or time == open and rest > part then time, rest = open, part end
end
tat_1, part_1 = (tat_1 > 0 and tat_1 or now) - time, part_1 - rest
if part_1 < 0 then tat_1, part_1 = tat_1 - 1, part_1 + limit_1 end
if tat_1 < now or tat_1 == now and part_1 == 0 then tat_1, part_1, last_1 = 0, 0, now end
--> show
left_1, reset_1 = capacity_1, 0
if tat_1 > 0 then
  local used = tat_1 - now
  reset_1 = part_1 > 0 and used + 1 or used
  -- How many tokens are missing: ceil(used / T), used with its fraction.
  local dividend, gone = used * limit_1 + part_1, 0
  if dividend < EXACT then
    local rest = dividend % period_1
    gone = (dividend - rest) / period_1
    if rest > 0 then gone = gone + 1 end
  else
    -- An estimate: make it the fewest whose T covers what is used.
    local function covers(count)
      local part = count * step_part_1
      local time = count * step_1 + (part - part % limit_1) / limit_1
      return time > used or time == used and part % limit_1 >= part_1
    end
    gone = math.ceil(dividend / period_1)
    while gone > 0 and covers(gone - 1) do gone = gone - 1 end
    while not covers(gone) do gone = gone + 1 end
  end
  left_1 = capacity_1 - gone
end
