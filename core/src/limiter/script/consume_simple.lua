-- The usual cases of a consume by one rule: a state of this policy alone, which has counted something that still counts, and
-- a clock that went forward. Included after read, before load. ARGV and reply: see load, consume and answer.
-- The section sets `wait` only then; `bytes` is what it writes behind the heading, `ttl` for how long it is kept, nil for as long
-- as before: a key that lost its TTL gets another with the next window, and is garbage until then.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if ALL_FITS and string.sub(value, 1, ALL_PREFIX) == ALL_HEADING then
  local cost = ARGV[3] + 0.0
  local look = cost <= 0
  if look then cost = -cost end
  local wait, left, reset, bytes, ttl
  --> simple
  if wait then
    if ttl then
      redis.call('SET', KEY, ALL_HEADING .. bytes, 'PX', string.format('%d', ttl))
    elseif bytes then
      redis.call('SET', KEY, ALL_HEADING .. bytes, 'KEEPTTL')
    end
    return struct.pack(ALL_ANSWER_FORMAT, 1, now, 0, 0, wait, left, reset)
  end
end
