-- Writes a state with a log: what changed of it, or all of it when it has to be larger, smaller or elsewhere.
-- Included in finish: takes `tail` (block and holds) and `ttl`. A user who may not call one of the commands is refused before
-- anything changed: writing nothing is refused as well, and a TTL is for garbage only.
local oldest = next
--> oldest
if other_count > 0 then
  for _, record in ipairs(others) do
    local kind, words = record.kind, record.words
    --* oldest
  end
end
local live = next - oldest
local start = ALL_LOG + LOG_SIZE - 1 + other_size
if base ~= start or live > room or room > 16 + live + live / 2 then
  local ring, count = '', live - 1
  if live > 0 then
    if count > 0 then
      local slot = oldest % room
      local straight = math.min(count, room - slot)
      ring = redis.call('GETRANGE', KEY, base + ENTRY * slot, base + ENTRY * (slot + straight) - 1)
      if straight < count then
        ring = ring .. redis.call('GETRANGE', KEY, base, base + ENTRY * (count - straight) - 1)
      end
      ring = ring .. string.rep('\0', ENTRY * count - #ring)
    end
    ring = ring .. struct.pack('<I7I5', last, sum)
  end
  --> renumber
  if other_count > 0 then
    for _, record in ipairs(others) do
      local kind, words = record.kind, record.words
      --* renumber
    end
  end
  next, room, base = live, live + (live - live % 4) / 4 + 8, start
  ring = ring .. string.rep('\0', ENTRY * (room - live))
  --@ head
  head = head .. struct.pack(LOG, LOG_RECORD, next, sum, last, room, base + ENTRY * room + #tail)
  --[direct]
  redis.call('SET', KEY, head .. ring .. tail, 'PX', ttl)
  --[end]
  --[queued]
  sets[#sets + 1] = {KEY, head .. ring .. tail, ttl}
  --[end]
else
  --@ head
  head = head .. struct.pack(LOG, LOG_RECORD, next, sum, last, room, base + ENTRY * room + #tail)
  --[direct]
  redis.call('SETRANGE', KEY, '0', '')
  redis.call('PEXPIRE', KEY, ttl)
  if logged then
    redis.call('SETRANGE', KEY, base + ENTRY * ((next - 1) % room), struct.pack('<I7I5', last, sum))
  end
  if tail ~= '' then redis.call('SETRANGE', KEY, base + ENTRY * room, tail) end
  redis.call('SETRANGE', KEY, '0', head)
  --[end]
  --[queued]
  expiries[#expiries + 1] = {KEY, ttl}
  if logged then
    ranges[#ranges + 1] = {KEY, base + ENTRY * ((next - 1) % room), struct.pack('<I7I5', last, sum)}
  end
  if tail ~= '' then ranges[#ranges + 1] = {KEY, base + ENTRY * room, tail} end
  ranges[#ranges + 1] = {KEY, '0', head}
  --[end]
end
