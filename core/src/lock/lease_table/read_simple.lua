-- Reads the table that a usual call is about: one table without waiters, none of whose leases has ended.
-- KEYS, ARGV[3] as below. `simple` tells whether it is one. Then `last` is its last token; of all holders there are `count`,
-- `held` permits, `earliest` and `latest` ends (`latest` without the holder of this id), and `first`, the size of what the first
-- says of itself. The holder of this id, if any, stands from `own` up to `behind_own`.
local simple, value, size, last = #KEYS == 1, nil, HEAD, 0
local count, held, earliest, latest, first, own, behind_own = 0, 0, EXACT, 0, 0, nil, nil
if simple then
  value = redis.call('GET', KEYS[1])
  if value then
    local string, id, at = string, ARGV[3], HEAD + 1
    size = #value
    if size >= HEAD then
      local q, k, one, tombstones, waiters
      q, k, one, last, tombstones, waiters = struct.unpack('<BBBI8I4I2', value)
      simple = q == 81 and k == 75 and one == 1 and tombstones + waiters == 0 and last < EXACT
    else
      simple = false
    end
    while simple and at <= size do
      if at + HOLDER > size + 1 then simple = false break end
      local deadline, ttl, token, since, weight, who = struct.unpack('<I8I8I8I8I4I2', value, at + 16)
      local behind = at + HOLDER + who
      simple = behind <= size + 1 and deadline > now and deadline <= now + ttl and since <= now and deadline < EXACT
        and ttl < EXACT and token < EXACT
      if count == 0 then first = who end
      count, held = count + 1, held + weight
      if deadline < earliest then earliest = deadline end
      if string.sub(value, at, at + 15) == id then
        if own then simple = false end
        own, behind_own = at, behind
      elseif deadline > latest then
        latest = deadline
      end
      at = behind
    end
  end
end
