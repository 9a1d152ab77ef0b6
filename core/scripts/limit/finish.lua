-- Writes the state if the transition said `write`, and answers. Included after a transition.
-- Reply: {1, now, healed, block left, then per rule: wait (-1 never), remaining, reset_after}.
-- Invariant: what is written has a TTL, and the TTL is for garbage only: every state carries its own time.
local left = block_until > now and block_until - now or 0
local life, state, n = left, 'QL\1', 4
local reply = {1, now, write and foreign and 1 or 0, left}
for i = 1, #rules do
  local rule = rules[i]
  local remaining, reset = rule[6].show(rule)
  reply[n + 1], reply[n + 2], reply[n + 3], n = rule[8], remaining, reset, n + 3
  if write then
    state = state .. struct.pack(RECORD, rule[7], rule[5], rule[1], rule[2], rule[3])
    if reset > life then life = reset end
  end
end
if write and life > 0 then
  if left > 0 then state = state .. struct.pack(BLOCK, 0, block_length, block_until) end
  local ttl = math.ceil(life / 1000) + 1
  -- Virtual time stands still while the server's runs: keep the key for the test.
  if virtual and ttl < 3600000 then ttl = 3600000 end
  redis.call('SET', KEYS[1], state, 'PX', ttl)
elseif write and value then
  redis.call('DEL', KEYS[1])
end
return reply
