-- Tells who holds a table; never writes.
-- KEYS[1] the table.
-- Reply: {1, now, healed, last token, number of waiters, then per holder: token, weight, since, deadline, left, who}.
-- Invariant: it shows what the next call would find.
local t = load_all('')[1]
local reply, at = {1, now, t.foreign and 1 or 0, t.last, #t.waiters / WAITER}, 1
while at <= #t.holders do
  local deadline, _, token, since, weight, size = struct.unpack(HOLDS, t.holders, at + 16)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = token, weight, since, deadline
  reply[n + 5], reply[n + 6] = deadline - now, string.sub(t.holders, at + HOLDER, at + HOLDER + size - 1)
  at = at + HOLDER + size
end
return reply
