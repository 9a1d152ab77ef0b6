-- Sells what every reservation holds, or nothing; or returns what each of them holds.
-- KEYS of each: three of the sale, then what it is remembered under.  ARGV[3] 'c' to confirm, 'u' to cancel.  ARGV[4] for how
-- long that is remembered, in microseconds.  Then the members.
-- Reply: {1, now, whether that became, or had become, of all of them; or 2: they have too many prizes, and nothing was done}.
-- Remembered: 'QD' version, until when (I8), what became of it.
-- Invariant: what was over is never sold.
local kind, memory, loaded, items, all, prizes = ARGV[3], ARGV[4] + 0.0, {}, {}, 1, 0
for i = 1, #KEYS / 4 do
  local at, member = 4 * i - 3, ARGV[4 + i]
  -- Several reservations may be of one sale.
  local s = loaded[KEYS[at]] or load(at, 'o') or {}
  local till = redis.call('ZSCORE', KEYS[at + 1], member)
  local known = redis.call('GET', KEYS[at + 3])
  redis.call('XLEN', KEYS[at + 2])
  local live = s.now and till and tonumber(till) > s.now
  local settled = known and #known == 12 and string.sub(known, 1, 3) == 'QD\1' and string.sub(known, 12) == kind
    and now < struct.unpack('<I8', known, 4)
  if known and not settled then check_format(known) end
  if not live and not settled then all = 0 end
  if live and s.prized then prizes = prizes + struct.unpack('<I8', member, 17) end
  loaded[KEYS[at]], items[i] = s, {sale = s, member = member, live = live, key = KEYS[at + 3]}
end
local step = step_of(#KEYS / 4)
if prizes > PRIZES then return {1, now, 2} end
for _, item in ipairs(items) do
  local s, member = item.sale, item.member
  if s.now and s.due <= s.now then release(s, step) end
  if item.live and (all == 1 or kind == 'u') then
    redis.call('ZREM', KEYS[s.at + 1], member)
    if kind == 'u' then
      give_back(s, kind, member)
    else
      local n, packed = struct.unpack('<I8', member, 17), nil
      s.held, s.sold = s.held - n, s.sold + n
      if s.prized then
        local given = 'g' .. string.sub(member, 1, 16)
        packed = redis.call('HGET', KEYS[s.at], given) or nil
        redis.call('HDEL', KEYS[s.at], given)
      end
      append(s, kind, member, packed)
    end
    save(s)
    local ttl = math.ceil(memory / 1000) + 1
    if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
    redis.call('SET', item.key, 'QD\1' .. struct.pack('<I8', now + memory) .. kind, 'PX', ttl)
  elseif s.dirty then
    save(s)
  end
end
return {1, now, all}
