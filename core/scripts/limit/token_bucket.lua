-- token-bucket: `capacity` tokens at most, filled at `limit` per `period`, as GCRA: the theoretical arrival time (TAT) is
-- the time at which the bucket is full again. limit and period come reduced, so that T = period/limit is exact in
-- fractions of 1/limit microsecond.  Words: TAT in microseconds, its fraction, the fraction's denominator.
-- Invariant after weigh: all 0, or now < TAT <= now + capacity * T. Every product stays below 2^53 (the core sees to it).
algorithms[4] = {
  -- Brings the state to now; returns the wait for `cost` (-1 never) and whether an impossible future was clamped.
  weigh = function(rule, cost)
    local limit, period, capacity = rule[4], rule[5], rule[9]
    local tat, part, clamped = rule[1], rule[2], false
    local most_part = capacity * (period % limit)
    local most = capacity * ((period - period % limit) / limit) + (most_part - most_part % limit) / limit
    most_part = most_part % limit
    -- The policy changed: the fraction in the new denominator, rounded up.
    if part > 0 and (rule[3] ~= limit or part >= limit) then
      part = math.min(math.ceil(part / rule[3] * limit), limit - 1)
    end
    if tat < now or tat == now and part == 0 then
      tat, part = now, 0
    elseif tat - now > most or tat - now == most and part > most_part then
      tat, part, clamped = now + most, most_part, true
    end
    local fresh = tat == now and part == 0
    rule[1], rule[2], rule[3] = fresh and 0 or tat, part, fresh and 0 or limit
    if cost > capacity then return -1, clamped end
    local cost_part = part + cost * (period % limit)
    local ahead = tat - now + cost * ((period - period % limit) / limit) + (cost_part - cost_part % limit) / limit
    if ahead < most or ahead == most and cost_part % limit <= most_part then return 0, clamped end
    return ahead - most + (cost_part % limit > most_part and 1 or 0), clamped
  end,
  -- Charges, or gives back when the amount is negative.
  apply = function(rule, amount)
    local limit, period = rule[4], rule[5]
    local tat, part = rule[3] == 0 and now or rule[1], rule[2]
    -- Giving back more than was ever taken would leave the exact range: what is above the capacity changes nothing.
    if amount < -rule[9] then amount = -rule[9] end
    part = part + amount * (period % limit)
    tat = tat + amount * ((period - period % limit) / limit) + (part - part % limit) / limit
    part = part % limit
    if tat < now or tat == now and part == 0 then
      rule[1], rule[2], rule[3] = 0, 0, 0
    else
      rule[1], rule[2], rule[3] = tat, part, limit
    end
  end,
  -- What is left, and the time until the rule is as new.
  show = function(rule)
    local limit, period, capacity = rule[4], rule[5], rule[9]
    if rule[3] == 0 then return capacity, 0 end
    local used, part = rule[1] - now, rule[2]
    -- An estimate of how many are spoken for, then the exact count: the fewest whose T covers what is used.
    local taken = math.ceil((used * limit + part) / period)
    local function covers(count)
      local count_part = count * (period % limit)
      local time = count * ((period - period % limit) / limit) + (count_part - count_part % limit) / limit
      return time > used or time == used and count_part % limit >= part
    end
    while taken > 0 and covers(taken - 1) do taken = taken - 1 end
    while not covers(taken) do taken = taken + 1 end
    local left = capacity - taken
    return left > 0 and left or 0, used + (part > 0 and 1 or 0)
  end,
}
