-- Holds units of every sale for a buyer, or of none.
-- KEYS three of each sale.  ARGV[3] 'b' buyer.  ARGV[4] for how long, in microseconds.  Then of each sale the member.
-- Reply: {1, now, why not: 1 sold out, 2 buyer's limit, 3 not open, 4 ended, 5 too many prizes in all, or 0; which sale refuses, from
-- 1, then of each sale: what is available, and if nothing refuses: until, number of prizes, the prizes}.
-- Invariant: a member that is held already is answered again, and nothing is taken.
local buyer, hold, sales, outcome, refused, known, prizes = ARGV[3], ARGV[4] + 0.0, {}, 0, 0, false, 0
local count = math.floor(#KEYS / 3)
for i = 1, count do
  local at, member = 3 * i - 2, ARGV[4 + i]
  local s = load(at, buyer) or {at = at, available = 0}
  -- Each key is looked at before any is written.
  s.score, s.member, s.n = redis.call('ZSCORE', KEYS[at + 1], member), member, struct.unpack('<I8', member, 17)
  redis.call('XLEN', KEYS[at + 2])
  s.more = count_of(s.more)
  known, sales[i] = known or s.now and s.score, s
end
local function refusal(s)
  if not s.now then return 3 end
  if s.ended then return 4 end
  if s.per_buyer > 0 and (s.more or 0) + s.n > s.per_buyer then return 2 end
  if s.n > s.available then return 1 end
  return s.prized and prizes > PRIZES_OF_A_TAKE and 5 or 0
end
-- Who would get nothing looks further, in so many rounds. One may end nothing: of a state that only damage can have left.
local rounds, step = ROUNDS, step_of(count)
for i, s in ipairs(known and {} or sales) do
  local why
  if s.prized then prizes = prizes + s.n end
  repeat
    if s.now and s.due <= s.now then
      release(s, step)
      s.more, rounds = count_of(redis.call('HGET', KEYS[s.at], buyer)), rounds - 1
    end
    why = refusal(s)
  until why == 0 or why > 2 or s.due > s.now or rounds < 1
  if why > 0 and outcome == 0 then outcome, refused = why, i end
end
local reply = {1, now, outcome, refused}
for _, s in ipairs(sales) do
  local till, drawn, packed = s.now, {}, nil
  if known then
    till = tonumber(s.score) or till or 0
    if s.prized then drawn = unpacked(redis.call('HGET', KEYS[s.at], 'g' .. string.sub(s.member, 1, 16)) or '') end
  elseif outcome == 0 then
    till = s.now + hold
    -- Without holds there was no such key, and so no TTL.
    s.renew = s.renew or s.held == 0
    redis.call('ZADD', KEYS[s.at + 1], till, s.member)
    if s.prized then drawn, packed = draw(s, string.sub(s.member, 1, 16), s.n) end
    if not s.more then s.buyers = s.buyers + 1 end
    redis.call('HSET', KEYS[s.at], buyer, string.format('%.0f', (s.more or 0) + s.n))
    s.available, s.held, s.due, s.latest = s.available - s.n, s.held + s.n, math.min(s.due, till), till
    append(s, 'h', s.member, packed)
    save(s)
  elseif s.dirty then
    save(s)
  end
  reply[#reply + 1] = s.available
  if outcome == 0 then
    local n = #reply
    reply[n + 1], reply[n + 2] = till - (s.offset or 0), #drawn
    for i, prize in ipairs(drawn) do reply[n + 2 + i] = prize end
  end
end
