-- Frees all that anybody holds.
-- KEYS the tables.  ARGV[3] permits there are.  ARGV[4] what channels' names begin with.
-- Reply: {1, now, how many leases were ended}.
-- Invariant: the token counts on, so what an ended holder still writes can be told from what a later one does.
local permits, prefix, ended, tables = ARGV[3] + 0.0, ARGV[4], 0, load_all('')
for _, t in ipairs(tables) do
  local freed, told = t.count > 0, {}
  if freed then
    ended, t.holders, t.count, t.held, t.latest = ended + t.count, '', 0, 0, now
    told = wake(t, permits)
  end
  t.changed, t.freeing = freed or t.dirty, true
  t.told = told
end
save_all(tables)
-- What is free is free, also if the user may send no hints: those who wait look again by themselves.
for _, t in ipairs(tables) do publish(t, t.told, prefix) end
return {1, now, ended}
