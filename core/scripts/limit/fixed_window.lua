-- fixed-window: at most `limit` in [open, stop); the window opens at the first admitted call.
-- Invariant after settle: count == 0 and stop == 0, or now < stop <= now + period.
--> settle
if count_1 == 0 or stop_1 <= now then
  count_1, stop_1 = 0, 0
elseif stop_1 > now + period_1 then
  stop_1, dirty = now + period_1, true
end
--> wait
if count_1 + cost > limit_1 then
  wait_1 = cost > limit_1 and -1 or stop_1 - now
end
--> charge
if count_1 == 0 then stop_1 = now + period_1 end
count_1 = count_1 + cost
if count_1 > MOST then count_1 = MOST end
--> refund
count_1 = count_1 - amount
if count_1 <= 0 then count_1, stop_1 = 0, 0 end
--> show
left_1, reset_1 = limit_1 - count_1, stop_1 - now
