-- fixed-window: at most `limit` in [open, end); the window opens at the first admitted call.
-- Words: count, end. Invariant after settle: count == 0 and end == 0, or now < end <= now + period.
algorithms[1] = {
  id = 1,
  settle = function(rule)
    if rule[1] == 0 or rule[2] <= now then
      rule[1], rule[2] = 0, 0
      return false
    end
    local latest = now + rule.period
    if rule[2] > latest then
      rule[2] = latest
      return true
    end
    return false
  end,
  wait = function(rule, cost)
    if cost > rule.limit then return -1 end
    if rule[1] + cost <= rule.limit then return 0 end
    return rule[2] - now
  end,
  charge = function(rule, cost)
    if rule[1] == 0 then rule[2] = now + rule.period end
    rule[1] = rule[1] + cost
  end,
  refund = function(rule, amount)
    rule[1] = math.max(0, rule[1] - amount)
    if rule[1] == 0 then rule[2] = 0 end
  end,
  remaining = function(rule) return math.max(0, rule.limit - rule[1]) end,
  reset_after = function(rule) return math.max(0, rule[2] - now) end,
}
