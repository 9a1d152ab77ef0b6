-- Writes a table. Included after form.
-- Invariant: it is kept for a day after its last lease, so that its token counts on.
local function save(t, freeing)
  local ttl = DAY + math.ceil((t.latest - now) / 1000)
  -- A full server refuses SET, but not to a script that has written already: permits must come back even then.
  if freeing then redis.call('DEL', t.key) end
  local head = struct.pack('<I8I4I2', t.last, #t.tombstones, #t.waiters / WAITER)
  redis.call('SET', t.key, 'QK\1' .. head .. t.tombstones .. t.waiters .. t.holders, 'PX', ttl)
end
