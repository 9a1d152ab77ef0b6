-- Ends holds. Included after save, prizes and lost.
-- Makes the units of a hold available again, once it is no more among the holds.
local function give_back(s, kind, member)
  local n, buyer, given = struct.unpack('<I8', member, 17), string.sub(member, 25), nil
  if (count_of(redis.call('HGET', KEYS[s.at], buyer)) or 0) > n then
    redis.call('HINCRBY', KEYS[s.at], buyer, string.format('%.0f', -n))
  else
    redis.call('HDEL', KEYS[s.at], buyer)
    s.buyers = math.max(s.buyers - 1, 0)
  end
  if s.prized then
    given = 'g' .. string.sub(member, 1, 16)
    put_back(s, redis.call('HGET', KEYS[s.at], given) or '')
    redis.call('HDEL', KEYS[s.at], given)
  end
  s.available, s.held = s.available + n, s.held - n
  append(s, kind, member)
end
-- Returns to stock up to `most` of the holds that are over, as far as this call may, and saves the sale.
local prizes_left = PRIZES
local function release(s, most)
  local first, over = redis.call('ZRANGE', KEYS[s.at + 1], 0, most, 'WITHSCORES'), {}
  -- Fails before anything is written if that key is of another type.
  redis.call('XLEN', KEYS[s.at + 2])
  s.due = NEVER
  for i = 1, #first, 2 do
    local till = tonumber(first[i + 1])
    if till > s.now or #over == most or prizes_left <= 0 then
      s.due = math.min(till, NEVER)
      break
    end
    over[#over + 1] = first[i]
    if s.prized then prizes_left = prizes_left - (units_of(first[i]) or 0) end
  end
  -- First what also a full server does: after that it does the rest.
  if #over > 0 then redis.call('ZREM', KEYS[s.at + 1], unpack(over)) end
  for _, member in ipairs(over) do
    -- What others put there goes, and nothing comes back for it.
    if units_of(member) then give_back(s, 'x', member) end
  end
  if s.due == NEVER and s.held > 0 then give_back_lost(s) end
  -- A key that somebody deleted is new by now, and has no TTL.
  s.renew = true
  save(s)
end
