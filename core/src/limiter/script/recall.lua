-- Gives the first answer again to a request that was charged already.
-- KEYS, last: what the request is remembered under.  ARGV, last: how long, in microseconds.
-- Sets `memory`. Takes `whose`, the number that stands for the keys if there may be several, and `denies`, whether the answer to a request
-- that was charged may deny.
-- Value: 'QR' version, until when it is remembered, then the fields of the reply after the first two (see describe.lua).
-- Invariant: what is not of this form is as nothing. What ends later than the longest memory that can be set, a day, ends as
-- if it were of now: the clock went back far, or it was damaged.
memory = ARGV[#ARGV] + 0.0
local remembered = redis.call('GET', KEYS[#KEYS])
if remembered then
  --@ format
  check_format(remembered)
end
local fields = remembered and (#remembered - 11) / 8 or 0
if fields > 0 and fields <= MOST_FIELDS and fields % 1 == 0 and string.sub(remembered, 1, 3) == 'QR\1' then
  local answer = {1, struct.unpack('<I8' .. string.rep('i8', fields), remembered, 4)}
  -- The last is the place behind the fields, as unpack gives it.
  answer[fields + 3] = nil
  local stop, place, decisions, sound = answer[2], 2, 0, true
  local function take(least, most)
    place = place + 1
    sound = sound and place <= fields + 2 and answer[place] >= least and answer[place] <= most
    return sound and answer[place] or 0
  end
  local most, least_wait, most_wait = EXACT - 1, denies and -1 or 0, denies and EXACT - 1 or 0
  local own = not whose or take(0, most) == whose
  while sound and (place < fields + 2 or decisions == 0) do
    local rules = take(1, MOST_RULES)
    take(0, most)
    take(0, 1)
    take(0, most_wait)
    for _ = 1, rules do
      local limit = take(1, most)
      take(least_wait, most_wait)
      take(0, limit)
      take(0, most)
    end
    decisions = decisions + 1
  end
  if sound and stop > now and stop <= most and (decisions == #KEYS - 1 or not own) then
    if stop > now + LONGEST_MEMORY then
      local ttl = math.ceil(memory / 1000) + 1
      if virtual and ttl < TEST_TTL then ttl = TEST_TTL end
      local value = 'QR\1' .. struct.pack('<I8', now + memory) .. string.sub(remembered, 12)
      redis.call('SET', KEYS[#KEYS], value, 'PX', ttl)
    end
    answer[2] = now
    return answer
  end
end
