-- Writes the tables that changed. Included after codec.
-- Invariant: each is kept for a day after its last lease, so that its token counts on. A user who may not call a command is
-- refused before any table changed: hints, which do no harm, are sent before, and nothing is deleted that SET may not replace.
local function save_all(tables)
  for _, t in ipairs(tables) do
    if t.changed then
      local head = struct.pack('<I8I4I2', t.last, #t.tombstones, #t.waiters / WAITER)
      local value = 'QK\1' .. head .. t.tombstones .. t.waiters .. t.holders
      local ttl = TABLE_MEMORY + math.ceil((t.latest - now) / 1000)
      local done = t.freeing and redis.pcall('SET', t.key, value, 'PX', ttl)
      -- A full server refuses SET, but not to a script that has written already: permits must come back even then.
      if done and done.err and string.find(done.err, 'OOM') then redis.call('DEL', t.key) end
      if not done or done.err then redis.call('SET', t.key, value, 'PX', ttl) end
    end
  end
end
