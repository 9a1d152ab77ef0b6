-- The usual cases of a consume by one rule: a state of this policy alone, which has counted something that still counts, and
-- a clock that went forward. Included after read, before load. ARGV and reply: see load, consume and answer.
-- Where the time to live stays right it is kept: a key that lost it gets another with the next window, and is garbage until then.
-- Invariant: it answers and writes what would be answered and written below, or does nothing.
if ALL_FITS and string.sub(value, 1, ALL_PREFIX) == ALL_HEADING then
  local cost = ARGV[3] + 0.0
  local look = cost <= 0
  if look then cost = -cost end
  --> simple
end
