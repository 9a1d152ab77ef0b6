-- fixed-window: at most `limit` in [open, stop); the window opens at the first admitted call.
-- Words: count, stop. Invariant after weigh: count == 0 and stop == 0, or now < stop <= now + period.
algorithms[1] = {
  -- Brings the state to now; returns the wait for `cost` (-1 never) and whether an impossible future was clamped.
  weigh = function(rule, cost)
    local limit, period, count, stop = rule[4], rule[5], rule[1], rule[2]
    local clamped = false
    if count == 0 or stop <= now then
      count, stop = 0, 0
    elseif stop > now + period then
      stop, clamped = now + period, true
    end
    rule[1], rule[2] = count, stop
    if count + cost <= limit then return 0, clamped end
    if cost > limit then return -1, clamped end
    return stop - now, clamped
  end,
  -- Charges, or gives back when the amount is negative.
  apply = function(rule, amount)
    local count = rule[1]
    if count == 0 then rule[2] = now + rule[5] end
    count = count + amount
    if count <= 0 then count, rule[2] = 0, 0 end
    rule[1] = count
  end,
  -- What is left, and the time until the rule is as new.
  show = function(rule)
    local left, reset = rule[4] - rule[1], rule[2] - now
    return left > 0 and left or 0, reset > 0 and reset or 0
  end,
}
