-- calendar-window: at most `limit` in each window that starts at a multiple of the period since the epoch.
-- Invariant after settle: both words 0, or start is that of the current window.
--> settle
local current = now - now % period_1
if count_1 == 0 or start_1 + kept_1 <= current then
  count_1, start_1 = 0, 0
else
  -- A start in the future means that the clock went back: its count stands for the current window. So does that of a
  -- window of another period that reaches into it.
  if start_1 > now or kept_1 ~= period_1 then dirty = true end
  start_1 = current
end
--> wait
if count_1 + cost > limit_1 then
  wait_1 = cost > limit_1 and -1 or period_1 - now % period_1
end
--> charge
count_1, start_1 = count_1 + cost, now - now % period_1
if count_1 > MOST then count_1 = MOST end
--> refund
count_1 = count_1 - amount
if count_1 <= 0 then count_1, start_1 = 0, 0 end
--> show
left_1, reset_1 = limit_1 - count_1, count_1 > 0 and period_1 - now % period_1 or 0
