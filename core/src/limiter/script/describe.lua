-- A reply that is remembered says all by itself, since the policy may change meanwhile.
-- Reply: {1, now, then for each decision: how many rules, cost, healed, block left, per rule: limit, wait, remaining,
-- reset_after}.
--[straight]
reply = {1, now, ALL_COUNT, cost, reply[3], blocked, ALL_DESCRIBED}
--[end]
--[looped]
reply = {1, now, ALL_COUNT, cost, reply[3], blocked}
for _, rule in ipairs(list) do
  reply[#reply + 1] = rule.capacity or rule.limit
  reply[#reply + 1] = rule.wait
  reply[#reply + 1] = rule.left
  reply[#reply + 1] = rule.reset
end
--[end]
