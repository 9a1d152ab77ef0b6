-- sliding-window: the previous window's count, weighted by how much of it lies in the last period, and the current one's.
-- Admitted when previous * (period - e) + (current + cost) * period <= limit * period, e the time into the window.
-- Words: start of the current window, current, previous. Invariant after weigh: all 0, or start is that of now's window.
-- Products reach 2^104: they are compared in two parts of 52 bits.
local function product(a, b)
  local low = a * b
  if low < 9007199254740992 then
    return (low - low % 4503599627370496) / 4503599627370496, low % 4503599627370496
  end
  local al, bl = a % 67108864, b % 67108864
  local ah, bh = (a - al) / 67108864, (b - bl) / 67108864
  -- ah*bl + al*bh < 2^53; its halves go to the two parts.
  local middle = ah * bl + al * bh
  local carried = (middle % 67108864) * 67108864
  low = al * bl
  local sum = low + carried
  return ah * bh + (middle - middle % 67108864) / 67108864 + (sum - sum % 4503599627370496) / 4503599627370496,
    sum % 4503599627370496
end

-- Whether a * b <= c * d.
local function at_most(a, b, c, d)
  local high, low = product(a, b)
  local other_high, other_low = product(c, d)
  return high < other_high or high == other_high and low <= other_low
end

-- floor(a * b / c) for a <= c: an estimate, then the exact value.
local function share(a, b, c)
  local estimate = math.min(math.floor(a / c * b), b)
  while estimate > 0 and not at_most(c, estimate, a, b) do estimate = estimate - 1 end
  while estimate < b and at_most(c, estimate + 1, a, b) do estimate = estimate + 1 end
  return estimate
end

algorithms[3] = {
  -- Brings the state to now; returns the wait for `cost` (-1 never) and whether an impossible future was clamped.
  weigh = function(rule, cost)
    local start, current, previous, limit, period = rule[1], rule[2], rule[3], rule[4], rule[5]
    local window, clamped = now - now % period, false
    if start < window then
      previous = start >= window - period and current or 0
      current = 0
    end
    clamped = start > now
    -- A lowered limit: more than the limit would deny for longer than the policy says.
    current, previous = math.min(current, limit), math.min(previous, limit)
    local fresh = current == 0 and previous == 0
    rule[1], rule[2], rule[3] = fresh and 0 or window, current, previous
    if cost > limit then return -1, clamped end
    local room, left = limit - current - cost, window + period - now
    if room >= 0 then
      if at_most(previous, left, room, period) then return 0, clamped end
      return left - share(room, period, previous), clamped
    end
    -- Not before the next window, where the current count is the previous one.
    return left + period - share(math.min(limit - cost, current), period, current), clamped
  end,
  -- Charges, or gives back when the amount is negative: from the current window first.
  apply = function(rule, amount)
    rule[1] = now - now % rule[5]
    rule[2] = rule[2] + amount
    if rule[2] < 0 then rule[2], rule[3] = 0, math.max(0, rule[3] + rule[2]) end
    if rule[2] == 0 and rule[3] == 0 then rule[1] = 0 end
  end,
  -- What is left, and the time until the rule is as new.
  show = function(rule)
    local current, previous, limit, period = rule[2], rule[3], rule[4], rule[5]
    local left = period - now % period
    local weight = 0
    if previous > 0 then
      weight = share(left, previous, period)
      if not at_most(left, previous, period, weight) then weight = weight + 1 end
    end
    local remaining = limit - current - weight
    local reset = current > 0 and left + period or previous > 0 and left or 0
    return remaining > 0 and remaining or 0, reset
  end,
}
