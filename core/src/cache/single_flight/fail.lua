-- Ends the lease of a loader that has no value; keeps its error for a while, if it shall be kept; tells who waits.
-- KEYS the entry, maybe its waiters.  ARGV[3] id.  ARGV[4] for how long the error is remembered in microseconds, or 0.
-- ARGV[5] what channels' names begin with.  ARGV[6] room for the header, then the error.
-- Reply: {1, now, whether the id had the lease}.
-- Invariant: a value that is still of use stays, and is served while the error is remembered.
local id, pause, prefix = ARGV[3], ARGV[4] + 0.0, ARGV[5]
local e, value = load(KEYS[1]), nil
local ended = loads(e, id)
if ended then
  end_lease(e)
  if pause > 0 and e.kind ~= NOTHING and e.kind ~= ERROR then
    e.failed, e.pause = now, pause
  elseif pause > 0 then
    value = ARGV[6]
    e.kind, e.made, e.fresh, e.stale, e.failed, e.pause, e.size = ERROR, now, pause, 0, 0, 0, #value - HEADER
  end
end
local told = ended and wake(e, KEYS[2], prefix)
if ended or e.dirty then save(e, value, true) end
if told then forget(KEYS[2]) end
return {1, now, ended and 1 or 0}
