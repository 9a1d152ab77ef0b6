-- Writes all that was decided on. A user who may not call one of the commands is refused before anything changed: what
-- writes nothing is refused as well, so it is tried first; then comes what removes a state that is as new.
if #dels > 0 and #sets > 0 then redis.call('SET', dels[1], '', 'NX') end
for _, key in ipairs(dels) do redis.call('DEL', key) end
for _, set in ipairs(sets) do redis.call('SET', set[1], set[2], 'PX', set[3]) end
