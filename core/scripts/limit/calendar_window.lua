-- calendar-window: at most `limit` in each window that starts at a multiple of the period since the epoch.
-- Words: count, start of its window. Invariant after settle: both 0, or start is that of the current window.
algorithms[2] = {
  id = 2,
  settle = function(rule)
    local current = now - now % rule.period
    if rule[1] == 0 or rule[2] < current then
      rule[1], rule[2] = 0, 0
      return false
    end
    -- A start in the future means that the clock went back: its count stands for the current window.
    local clamped = rule[2] > now
    rule[2] = current
    return clamped
  end,
  wait = function(rule, cost)
    if cost > rule.limit then return -1 end
    if rule[1] + cost <= rule.limit then return 0 end
    return rule.period - now % rule.period
  end,
  charge = function(rule, cost)
    rule[1] = rule[1] + cost
    rule[2] = now - now % rule.period
  end,
  refund = function(rule, amount)
    rule[1] = math.max(0, rule[1] - amount)
    if rule[1] == 0 then rule[2] = 0 end
  end,
  remaining = function(rule) return math.max(0, rule.limit - rule[1]) end,
  reset_after = function(rule)
    if rule[1] == 0 then return 0 end
    return rule.period - now % rule.period
  end,
}
