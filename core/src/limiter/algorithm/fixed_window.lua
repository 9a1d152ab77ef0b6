-- fixed-window: at most `limit` in [open, stop); the window opens at the first admitted call.
-- Words: count, stop, the last charge; 0 for that if nothing was charged yet, but the count taken over from a window of another
-- period: it ends with that window, and the first charge opens a whole one.
-- Of a count that was given back as a whole: 0, 0, and when that was.
-- Invariant after settle: all 0, or now < stop <= last + period and last <= now, or last is 0 and stop <= now + period.
--> simple
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
if count_1 > 0 and last_1 > 0 and last_1 <= now and now < stop_1 and stop_1 <= last_1 + period_1 and cost <= limit_1
  and SUM_1 < EXACT then
  wait, left, reset = 0, limit_1 - count_1, stop_1 - now
  if cost > left then
    wait = reset
    if left < 0 then left = 0 end
  elseif not look then
    left, bytes = left - cost, struct.pack(ALL_FORMAT, count_1 + cost, stop_1, now)
  end
end
--> ends
back, last_1 = last_1 > now, math.min(last_1, now)
copied = last_1 == 0
if copied and stop_1 > now + period_1 then back = true end
stop_1 = math.min(stop_1, (copied and now or last_1) + period_1)
stop = count_1 > 0 and stop_1 or last_1
--> carry
local kept = sources[N_1]
if kept and not kept.own then stop_1, last_1 = math.min(stop_1, last_1 + period_1), 0 end
--> settle
local back = last_1 > now
if back then last_1 = now end
-- No window is open for longer than a period after its last charge: the clock went back.
if stop_1 > last_1 + period_1 then
  if last_1 > 0 then
    stop_1 = last_1 + period_1
  elseif stop_1 > now + period_1 then
    stop_1, back = now + period_1, true
  end
end
if count_1 == 0 or stop_1 <= now then
  count_1, stop_1, last_1 = 0, 0, 0
elseif back then
  dirty = true
end
--> wait
if count_1 + cost > limit_1 then
  wait_1 = cost > limit_1 and -1 or stop_1 - now
end
--> charge
if count_1 == 0 or last_1 == 0 then stop_1 = now + period_1 end
count_1, last_1 = count_1 + cost, now
if count_1 > MOST then count_1 = MOST end
--> refund
count_1 = count_1 - amount
if count_1 <= 0 then count_1, stop_1, last_1 = 0, 0, now end
--> show
left_1, reset_1 = limit_1 - count_1, stop_1 - now
