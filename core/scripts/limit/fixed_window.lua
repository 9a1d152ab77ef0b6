-- fixed-window: at most `limit` in [open, stop); the window opens at the first admitted call.
-- Words: count, stop, the last charge. Invariant after settle: all 0, or now < stop <= last + period and last <= now.
--> ends
back, last_1 = last_1 > now, math.min(last_1, now)
stop_1 = math.min(stop_1, last_1 + period_1)
stop = count_1 > 0 and stop_1 or 0
--> settle
local back = last_1 > now
if back then last_1 = now end
-- No window is open for longer than a period after its last charge: the clock went back, or the period was longer.
if stop_1 > last_1 + period_1 then stop_1 = last_1 + period_1 end
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
if count_1 == 0 then stop_1 = now + period_1 end
count_1, last_1 = count_1 + cost, now
if count_1 > MOST then count_1 = MOST end
--> refund
count_1 = count_1 - amount
if count_1 <= 0 then count_1, stop_1, last_1 = 0, 0, 0 end
--> show
left_1, reset_1 = limit_1 - count_1, stop_1 - now
