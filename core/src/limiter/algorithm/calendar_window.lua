-- calendar-window: at most `limit` in each window that starts at a multiple of the period since the epoch.
-- Words: count, the last charge, which tells its window by any period; of a count that was given back as a whole 0, and when
-- that was. Invariant after settle: both 0, or last lies in the current window.
--> simple
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
local gone = now % period_1
if count_1 > 0 and last_1 <= now and last_1 >= now - gone and cost <= limit_1 and SUM_1 < EXACT then
  wait, left, reset = 0, limit_1 - count_1, period_1 - gone
  if cost > left then
    wait = reset
    if left < 0 then left = 0 end
  elseif not look then
    left, bytes = left - cost, struct.pack(ALL_FORMAT, count_1 + cost, now)
  end
end
--> ends
back, last_1 = last_1 > now, math.min(last_1, now)
stop = count_1 > 0 and last_1 - last_1 % period_1 + period_1 or last_1
--> settle
if count_1 == 0 or last_1 < now - now % period_1 then
  count_1, last_1 = 0, 0
elseif last_1 > now then
  -- The clock went back: the count stands for the current window.
  last_1, dirty = now, true
end
--> wait
if count_1 + cost > limit_1 then
  wait_1 = cost > limit_1 and -1 or period_1 - now % period_1
end
--> charge
count_1, last_1 = count_1 + cost, now
if count_1 > MOST then count_1 = MOST end
--> refund
count_1 = count_1 - amount
if count_1 <= 0 then count_1, last_1 = 0, now end
--> show
left_1, reset_1 = limit_1 - count_1, count_1 > 0 and period_1 - now % period_1 or 0
