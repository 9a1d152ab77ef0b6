-- Where a waiter belongs among those of a table: they stand in the order in which they came. Included after codec.
-- Invariant: the order is the same in all tables, so no two waiters can each wait for the other's turn.
-- Whether the one at a place came before; what came in one microsecond is told apart by the bytes of its id. Not by `<`,
-- which asks the server's locale.
local function precedes(waiters, at, since, id)
  local came = struct.unpack('<I8', waiters, at + 24)
  if came ~= since then return came < since end
  for n = 1, 16 do
    local other, own = string.byte(waiters, at + n - 1), string.byte(id, n)
    if other ~= own then return other < own end
  end
  return false
end
-- Behind the last who came before it: most come last.
local function place(waiters, since, id)
  local at = #waiters + 1
  while at > 1 and not precedes(waiters, at - WAITER, since, id) do at = at - WAITER end
  return at
end
