-- sliding-log: at most `limit` in any period: in (now - period, now], by a log of all admissions (see log.lua).
-- Words: the number of the first entry that still counts for this rule, how much counts, and that entry's time and sum.
-- Of a rule of another policy, which is charged with the rules of this one: in place of the time its last own charge, and the
-- sum is WRAP larger. It counts no more than its limit needs.
-- Invariant after settle: used == 0 and first == next, or the entry `first` is younger than the period.
--> simple
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
local id, next, sum, last, room, stop, base = struct.unpack('<BI8I8I8I8I8', value, ALL_LOG)
base = base - 1
if id == LOG_RECORD and stop == base + ENTRY * room and next < EXACT and sum < WRAP and last < now and first_1 < next
  and next - first_1 <= room and used_1 > 0 and used_1 <= LOG_MOST and time_1 > now - period_1 and time_1 <= last
  and total_1 < WRAP and SUM_1 < EXACT and cost <= limit_1 then
  local live = next - first_1 + 1
  wait, left, reset = 0, limit_1 - used_1, last + period_1 - now
  if cost > left then
    -- When the oldest entry ends, if that leaves room enough.
    wait = (sum - total_1) % WRAP <= limit_1 - cost and time_1 + period_1 - now
    if left < 0 then left = 0 end
  elseif not look then
    if live <= room and room <= 16 + live + live / 2 then
      left, reset, sum = left - cost, period_1, (sum + cost) % WRAP
      -- This entry is not read before the head says that it is there.
      redis.call('SETRANGE', KEY, string.format('%d', base + ENTRY * (next % room)), struct.pack('<I7I5', now, sum))
      local life = period_1 / 1000 + 1
      if virtual and life < TEST_TTL then life = TEST_TTL end
      redis.call('PEXPIRE', KEY, string.format('%d', life))
      redis.call('SETRANGE', KEY, '0', ALL_HEADING .. struct.pack(ALL_FORMAT, first_1, used_1 + cost, time_1, total_1)
        .. struct.pack('<BI8I8I8I8I8', LOG_RECORD, next + 1, sum, now, room, stop))
    else
      wait = nil
    end
  end
end
--> fits
fits = fits and first_1 <= next and next - first_1 <= room and used_1 <= LOG_MOST and total_1 < WRAP
--> carry
if not sources[N_1] then first_1 = next end
--> oldest
if first_1 < oldest then oldest = first_1 end
--> longest
if used_1 > counted then counted, sources[r] = used_1, record end
--> gather
if first_1 >= from then first_1, time_1, total_1 = from, last, sum end
--> restore
own_last_1 = log and log.last or 0
if total_1 >= WRAP then own_last_1, total_1, aside_1 = time_1, total_1 - WRAP, true end
--> ends
back, own_last_1 = own_last_1 > now, math.min(own_last_1, now)
stop = log and used_1 > 0 and math.min(log.last, now) + period_1 or 0
--> aside
time_1, total_1 = own_last_1, total_1 + WRAP
--> first
if aside_1 and used_1 > 0 then time_1 = (entry(first_1)) end
--> most
if (sum - total_1) % WRAP >= limit_1 then
  local gone
  first_1, time_1, total_1, gone = beyond(first_1, total_1, nil, limit_1 - 1)
  used_1 = math.min(used_1, (sum - gone) % WRAP)
end
--> trim
if first_1 == next or last <= now - period_1 then
  used_1 = 0
elseif time_1 <= now - period_1 then
  local gone
  first_1, time_1, total_1, gone = beyond(first_1, total_1, now - period_1)
  used_1 = first_1 == next and 0 or math.min(used_1, (sum - gone) % WRAP)
end
if used_1 == 0 then
  first_1, time_1, total_1 = next, 0, 0
elseif time_1 > last then
  -- An entry that says that it is younger than the last one was damaged: it ends with that.
  time_1, dirty = last, true
end
--> wait
if used_1 + cost > limit_1 then
  if cost > limit_1 then
    wait_1 = -1
  else
    -- The first entry after whose end the rest leaves room.
    local time = time_1
    if (sum - total_1) % WRAP > limit_1 - cost then
      local _
      _, time = beyond(first_1, total_1, nil, limit_1 - cost)
    end
    -- What cannot be was damaged: there is room when the last one ends.
    if time <= now - period_1 or time > last then time = last end
    wait_1 = time + period_1 - now
  end
end
--> bound
if used_1 + added > LOG_MOST then added = LOG_MOST - used_1 end
--> count
if first_1 >= next - 1 then first_1, time_1, total_1 = next - 1, last, sum end
used_1 = math.min(used_1 + added, LOG_MOST)
--> refund
-- The oldest first: what is left stands in the log for at least as long as what was charged.
if since > now - period_1 then used_1 = math.max(0, used_1 - amount) end
if used_1 == 0 then
  first_1, time_1, total_1 = next, 0, 0
elseif (sum - total_1) % WRAP >= used_1 then
  -- Entries that were given back as a whole count no more.
  first_1, time_1, total_1 = beyond(first_1, total_1, nil, used_1 - 1)
end
--> show
left_1, reset_1 = limit_1 - used_1, used_1 > 0 and last + period_1 - now or 0
--> renumber
first_1 = first_1 - oldest
