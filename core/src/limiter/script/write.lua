-- Writes all that was decided on. A user who may not call one of the commands is refused before anything changed: what
-- writes nothing is refused as well, so it is tried first; then comes what removes a state that is as new. A log may have
-- changed in part; a TTL is for garbage only.
if #dels > 0 and #sets > 0 then redis.call('SET', dels[1], '', 'NX') end
if #ranges > 0 then redis.call('SETRANGE', ranges[1][1], '0', '') end
for _, key in ipairs(dels) do redis.call('DEL', key) end
for _, expiry in ipairs(expiries) do redis.call('PEXPIRE', expiry[1], expiry[2]) end
for _, set in ipairs(sets) do redis.call('SET', set[1], set[2], 'PX', set[3]) end
for _, range in ipairs(ranges) do redis.call('SETRANGE', range[1], range[2], range[3]) end
