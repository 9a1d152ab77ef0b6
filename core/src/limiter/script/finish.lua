-- Writes the state if the transition said `write`. Included after a transition, before reply or answer.
-- Reply: {1, now, healed, block left, then per rule: wait (-1 never), remaining, reset_after}.
-- Invariant: what is written has a TTL, and the TTL is for garbage only: every state carries its own time.
--> show
--[each]
if left_1 < 0 then left_1 = 0 end
if reset_1 < 0 then reset_1 = 0 end
--[end]
if ends and not write then
  --[each]
  if ends[N_1] then wait_1, reset_1 = math.min(wait_1, ends[N_1] - now), math.min(reset_1, ends[N_1] - now) end
  --[end]
end
local blocked = block_until > now and block_until - now or 0
if write then
  local life = blocked
  if holds ~= '' and latest - now > life then life = latest - now end
  if others_until - now > life then life = others_until - now end
  --[each]
  if reset_1 > life then life = reset_1 end
  --[end]
  if life > 0 then
    local ttl = math.ceil(life / 1000) + 1
    -- Virtual time stands still while the server's runs: keep the key for the test.
    if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
    local tail = ''
    if blocked > 0 then tail = struct.pack('<BI8I8', BLOCK_RECORD, block_length, block_until) end
    if holds ~= '' then
      tail = tail .. struct.pack('<BI8I8I8I8I8', HOLDS_RECORD, earliest, latest, newest, marks, #holds / hold_size) .. holds
    end
    --[log]
    --@ save_log
    --[end]
    --[plain]
    --@ head
    if other_log then
      --@ carry_log
    else
      --[direct]
      redis.call('SET', KEY, head .. tail, 'PX', string.format('%d', ttl))
      --[end]
      --[queued]
      sets[#sets + 1] = {KEY, head .. tail, ttl}
      --[end]
    end
    --[end]
  elseif value then
    --[direct]
    redis.call('DEL', KEY)
    --[end]
    --[queued]
    dels[#dels + 1] = KEY
    --[end]
  end
end
