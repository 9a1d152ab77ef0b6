-- calendar-window: at most `limit` in each window that starts at a multiple of the period since the epoch.
-- Words: count, start of its window. Invariant after weigh: both 0, or start is that of the current window.
algorithms[2] = {
  -- Brings the state to now; returns the wait for `cost` (-1 never) and whether an impossible future was clamped.
  weigh = function(rule, cost)
    local limit, period, count, start = rule[4], rule[5], rule[1], rule[2]
    local current, clamped = now - now % period, false
    if count == 0 or start < current then
      count, start = 0, 0
    else
      -- A start in the future means that the clock went back: its count stands for the current window.
      start, clamped = current, start > now
    end
    rule[1], rule[2] = count, start
    if count + cost <= limit then return 0, clamped end
    if cost > limit then return -1, clamped end
    return current + period - now, clamped
  end,
  -- Charges, or gives back when the amount is negative.
  apply = function(rule, amount)
    local count = rule[1] + amount
    if count > 0 then
      rule[1], rule[2] = count, now - now % rule[5]
    else
      rule[1], rule[2] = 0, 0
    end
  end,
  -- What is left, and the time until the rule is as new.
  show = function(rule)
    local left = rule[4] - rule[1]
    return left > 0 and left or 0, rule[1] > 0 and rule[5] - now % rule[5] or 0
  end,
}
