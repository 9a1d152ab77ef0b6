--!df flags=legacy-float
local ARGV, redis, struct = ARGV, redis, struct
local virtual, now = ARGV[1] ~= '', nil
if virtual then
  now = ARGV[1] + 0.0
else
  local time = redis.call('TIME')
  now = time[1] * 1e6 + time[2]
end
if ARGV[2] ~= '' and now > tonumber(ARGV[2]) then
  return {0, now}
end
local memory
do
local whose, denies = nil, false
 memory = ARGV[#ARGV] + 0.0
 local remembered = redis.call('GET', KEYS[#KEYS])
 if remembered then
  local function check_format(bytes)
   local number, rest = string.byte(bytes, 7, 8)
   if rest and number + rest == 255 and number > 1 and string.sub(bytes, 1, 6) == '\255quota' then
    error('NEWERVERSION ' .. number, 0)
   end
  end
  check_format(remembered)
 end
 local fields = remembered and (#remembered - 11) / 8 or 0
 if fields > 0 and fields <= 4401 and fields % 1 == 0 and string.sub(remembered, 1, 3) == 'QR\1' then
  local answer = {1, struct.unpack('<I8' .. string.rep('i8', fields), remembered, 4)}
  answer[fields + 3] = nil
  local stop, place, decisions, sound = answer[2], 2, 0, true
  local function take(least, most)
   place = place + 1
   sound = sound and place <= fields + 2 and answer[place] >= least and answer[place] <= most
   return sound and answer[place] or 0
  end
  local most, least_wait, most_wait = 2^53 - 1, denies and -1 or 0, denies and 2^53 - 1 or 0
  local own = not whose or take(0, most) == whose
  while sound and (place < fields + 2 or decisions == 0) do
   local rules = take(1, 10)
   take(0, most)
   take(0, 1)
   take(0, most_wait)
   for _ = 1, rules do
    local limit = take(1, most)
    take(least_wait, most_wait)
    take(0, limit)
    take(0, most)
   end
   decisions = decisions + 1
  end
  if sound and stop > now and stop <= most and (decisions == #KEYS - 1 or not own) then
   if stop > now + 86400000000 then
    local ttl = math.ceil(memory / 1000) + 1
    if virtual and ttl < 3600000 then ttl = 3600000 end
    local value = 'QR\1' .. struct.pack('<I8', now + memory) .. string.sub(remembered, 12)
    redis.call('SET', KEYS[#KEYS], value, 'PX', ttl)
   end
   answer[2] = now
   return answer
  end
 end
end
local dels, expiries, sets, ranges = {}, {}, {}, {}
local value
value = redis.call('GETRANGE', KEYS[1], '0', '246')
local HOLD = '<c16I8I8I8I8BI4'
local heading = ARGV[4]
local limit_1, period_1 = ARGV[5] + 0.0, ARGV[6] + 0.0
local count_1, stop_1, last_1 = 0, 0, 0
local wait_1, left_1, reset_1 = 0, 0, 0
local limit_2, period_2 = ARGV[7] + 0.0, ARGV[8] + 0.0
local count_2, last_2 = 0, 0
local wait_2, left_2, reset_2 = 0, 0, 0
local limit_3, period_3 = ARGV[9] + 0.0, ARGV[10] + 0.0
local last_3, current_3, previous_3 = 0, 0, 0
local wait_3, left_3, reset_3 = 0, 0, 0
local limit_4, period_4, capacity_4 = ARGV[11] + 0.0, ARGV[12] + 0.0, ARGV[13] + 0.0
local tat_4, part_4, last_4 = 0, 0, 0
local wait_4, left_4, reset_4 = 0, 0, 0
local limit_5, period_5 = ARGV[14] + 0.0, ARGV[15] + 0.0
local first_5, used_5, time_5, total_5 = 0, 0, 0, 0
local wait_5, left_5, reset_5 = 0, 0, 0
local LOG = '<BI8I8I8I8I8'
local next, sum, last, room, base, logged, added = 0, 0, 0, 0, 0, false, 0
local function entry(number)
 if number == next - 1 then return last, sum end
 local from = base + 12 * (number % room)
 local bytes = redis.call('GETRANGE', KEYS[1], from, from + 12 - 1)
 if #bytes < 12 then return 0, sum end
 return struct.unpack('<I7I5', bytes)
end
local function beyond(low, gone, edge, most)
 local high, step, time, total = next, 1, 0, 0
 local function before(number)
  local stamp, charged = entry(number)
  local is
  if edge then is = stamp <= edge else is = (sum - charged) % 2^40 > most end
  if is then low, gone = number, charged else high, time, total = number, stamp, charged end
  return is
 end
 while low + step < high and before(low + step) do step = step * 2 end
 while high - low > 1 do before(low + (high - low - (high - low) % 2) / 2) end
 return high, time, total, gone
end
local function share(a, b, c)
 local simple = a * b
 if simple < 2^53 then return (simple - simple % c) / c end
 local function product(x, y)
  local x_low, y_low = x % 67108864, y % 67108864
  local x_high, y_high = (x - x_low) / 67108864, (y - y_low) / 67108864
  local middle = x_high * y_low + x_low * y_high
  local low = x_low * y_low + (middle % 67108864) * 67108864
  local carried = (middle - middle % 67108864) / 67108864 + (low - low % 2^52) / 2^52
  return x_high * y_high + carried, low % 2^52
 end
 local high, low = product(a, b)
 local function covers(quotient)
  local other_high, other_low = product(quotient, c)
  return other_high < high or other_high == high and other_low <= low
 end
 local estimate = math.min(math.floor(a / c * b), b)
 while estimate > 0 and not covers(estimate) do estimate = estimate - 1 end
 while estimate < b and covers(estimate + 1) do estimate = estimate + 1 end
 return estimate
end
local step_4, step_part_4, full_4, full_part_4 = period_4, 0, capacity_4 * period_4, 0
if limit_4 > 1 then
 step_part_4 = period_4 % limit_4
 step_4, full_part_4 = (period_4 - step_part_4) / limit_4, capacity_4 * step_part_4
 full_4 = capacity_4 * step_4 + (full_part_4 - full_part_4 % limit_4) / limit_4
 full_part_4 = full_part_4 % limit_4
end
local foreign, dirty, block_length, block_until = false, false, 0, 0
local holds, hold_size, earliest, latest, newest, marks = '', 69, 0, 0, 0, 0
local other_count, names, other_size, others_until, others, other_log, ends = 0, nil, 0, 0, nil, nil, nil
if value == '' then value = nil end
if value then
 local fits = #value == 247 and string.sub(value, 1, 86) == heading
 if fits then
  count_1, stop_1, last_1, count_2, last_2, last_3, current_3, previous_3, tat_4, part_4, last_4, first_5, used_5, time_5, total_5 = struct.unpack('<I8I8I8I8I8I8I8I8I8I8I8I8I8I8I8', value, 86 + 1)
  fits = fits and count_1 + stop_1 + last_1 < 2^53
  fits = fits and count_2 + last_2 < 2^53
  fits = fits and last_3 + current_3 + previous_3 < 2^53
  fits = fits and tat_4 + part_4 + last_4 < 2^53
  fits = fits and first_5 + used_5 + time_5 + total_5 < 2^53
  local id, stop
  id, next, sum, last, room, stop, base = struct.unpack(LOG, value, 207)
  base = base - 1
  fits = fits and id == 250 and stop == base + 12 * room and next < 2^53 and sum < 2^40 and last < 2^53
  do -- rule 5
   fits = fits and first_5 <= next and next - first_5 <= room and used_5 <= 2^39 and total_5 < 2^40
  end
 end
 if not fits then
  local counts, sizes = {3, 2, 3, 3, 4}, {15, 15, 15, 22, 15}
  local is_bucket, is_log = {[4] = true}, {[5] = true}
  local records, sources, layout, position, stage, log, buckets = {}, {}, {}, 5, 0, nil, 0
  value = redis.call('GETRANGE', KEYS[1], '0', '1023')
  next, sum, last, room, base = 0, 0, 0, 0, 0
  local total = string.byte(value, 4) or 0
  foreign = string.sub(value, 1, 3) ~= 'QL\2'
  if foreign then
   local function check_format(bytes)
    local number, rest = string.byte(bytes, 7, 8)
    if rest and number + rest == 255 and number > 1 and string.sub(bytes, 1, 6) == '\255quota' then
     error('NEWERVERSION ' .. number, 0)
    end
   end
   check_format(value)
  end
  foreign = foreign or total == 0 or total > 20
  for index = 1, foreign and 0 or total do
   local id = string.byte(value, position) or 0
   local kind, given = id % 128, id >= 128
   local size = sizes[kind]
   foreign = not size or given and is_log[kind] or position + size > #value + 1
   if foreign then break end
   local record = {kind = kind, index = index, given = given}
   record.name = string.char(kind) .. string.sub(value, position + 1, position + size - 1)
   local limit, period, capacity = struct.unpack(is_bucket[kind] and '<I7I7I7' or '<I7I7', record.name, 2)
   record.whole = period
   foreign = limit == 0 or limit > 2^52 or period == 0 or period > 3153600000000000 or capacity == 0 or capacity > 2^52
   if foreign then break end
   if is_bucket[kind] then
    local divisor, rest = limit, period
    while rest > 0 do divisor, rest = rest, divisor % rest end
    limit, period = limit / divisor, period / divisor
    record.slot, buckets = 53 + 16 * buckets, buckets + 1
   end
   record.limit, record.period, record.capacity = limit, period, capacity
   records[index], position = record, position + size
  end
  for _, record in ipairs(records) do
   local count = counts[record.kind]
   foreign = foreign or position + 8 * count > #value + 1
   if foreign then break end
   record.words = {struct.unpack('<' .. string.rep('I8', count), value, position)}
   record.words[count + 1], position = nil, position + 8 * count
   for n = 1, count do foreign = foreign or record.words[n] >= 2^53 end
  end
  hold_size = 53 + 16 * buckets
  local stages, lengths = {[250] = 1, [0] = 2, [251] = 3}, {5, 2, 5}
  while position <= #value and not foreign do
   local before = stage
   stage = stages[string.byte(value, position)] or 0
   local count = lengths[stage]
   if stage == 3 and not log and #value == 1024 then value = redis.call('GET', KEYS[1]) end
   if count and position + 8 * count <= #value and stage > before then
    local numbers = {struct.unpack('<' .. string.rep('I8', count), value, position + 1)}
    for n = 1, count do foreign = foreign or numbers[n] >= 2^53 end
    position = position + 1 + 8 * count
    if stage == 1 then
     log = {next = numbers[1], sum = numbers[2], last = numbers[3], room = numbers[4], base = position - 1}
     local after, stop = log.base + 12 * log.room, numbers[5]
     foreign = foreign or log.sum >= 2^40 or after > stop
     foreign = foreign or #value ~= 1024 and stop > #value
     if not foreign then
      value = stop > after and redis.call('GETRANGE', KEYS[1], after, stop - 1) or ''
      position, foreign = 1, #value ~= stop - after
     end
    elseif stage == 2 then
     block_length, block_until = numbers[1], numbers[2]
     foreign = foreign or block_length > 3153600000000000
    else
     earliest, latest, newest, marks, holds = numbers[1], numbers[2], numbers[3], numbers[4], string.sub(value, position)
     foreign = foreign or #holds == 0 or #holds ~= numbers[5] * hold_size or marks > 1048575
     position = #value + 1
    end
   else
    foreign = true
   end
  end
  if log and not foreign then next, sum, last, room, base = log.next, log.sum, log.last, log.room, log.base end
  for _, record in ipairs(records) do
   local kind, words = record.kind, record.words
   if is_log[kind] and not foreign then
    if kind == 5 then -- sliding-log
     record.own_last = log and log.last or 0
     if words[4] >= 2^40 then record.own_last, words[4], record.aside = words[3], words[4] - 2^40, true end
    end
    fits = log
    if kind == 5 then -- sliding-log
     fits = fits and words[1] <= next and next - words[1] <= room and words[2] <= 2^39 and words[4] < 2^40
    end
    if fits then
     if kind == 5 then -- sliding-log
      if record.aside and words[2] > 0 then words[3] = (entry(words[1])) end
     end
    end
    foreign = not fits
   end
  end
  if foreign then next, sum, last, room, base = 0, 0, 0, 0, 0 end
  if foreign then
   records, block_length, block_until, dirty = {}, 0, 0, true
   holds, earliest, latest, newest, marks = '', 0, 0, 0, 0
  end
  for _, record in ipairs(records) do
   local kind, words, stop, back, copied = record.kind, record.words, 0, false, false
   if kind == 1 then -- fixed-window
    back, words[3] = words[3] > now, math.min(words[3], now)
    copied = words[3] == 0
    if copied and words[2] > now + record.period then back = true end
    words[2] = math.min(words[2], (copied and now or words[3]) + record.period)
    stop = words[1] > 0 and words[2] or words[3]
   elseif kind == 2 then -- calendar-window
    back, words[2] = words[2] > now, math.min(words[2], now)
    stop = words[1] > 0 and words[2] - words[2] % record.period + record.period or words[2]
   elseif kind == 3 then -- sliding-window
    back, words[1] = words[1] > now, math.min(words[1], now)
    local window = words[1] - words[1] % record.period
    stop = words[2] > 0 and window + 2 * record.period or words[3] > 0 and window + record.period or words[1]
   elseif kind == 4 then -- token-bucket
    back, words[3] = words[3] > now, math.min(words[3], now)
    local full = words[3] + math.min(math.ceil(record.capacity * record.period / record.limit), 3153600000000000) + 1
    if words[1] > full then words[1], words[2] = full, 0 end
    stop = words[1] > 0 and words[1] + (words[2] > 0 and 1 or 0) or words[3]
   elseif kind == 5 then -- sliding-log
    back, record.own_last = record.own_last > now, math.min(record.own_last, now)
    stop = log and words[2] > 0 and math.min(log.last, now) + record.period or 0
   end
   dirty = dirty or back and stop > now
   record.stop, record.copied = stop, copied
   record.kept = stop > 0 and (record.own_last or stop) + record.whole > now and (stop > now or not is_log[kind])
  end
  local rules = {}
  rules[1] = {name = string.sub(heading, 5, 19), kind = 1, limit = limit_1, period = period_1, capacity = limit_1}
  rules[2] = {name = string.sub(heading, 20, 34), kind = 2, limit = limit_2, period = period_2, capacity = limit_2}
  rules[3] = {name = string.sub(heading, 35, 49), kind = 3, limit = limit_3, period = period_3, capacity = limit_3}
  rules[4] = {name = string.sub(heading, 50, 71), kind = 4, limit = limit_4, period = period_4, capacity = capacity_4}
  rules[5] = {name = string.sub(heading, 72, 86), kind = 5, limit = limit_5, period = period_5, capacity = limit_5}
  local function counts_alike(record, rule)
   return record.name == rule.name or record.kind == rule.kind and record.period == rule.period and not is_log[rule.kind]
    and (not is_bucket[rule.kind] or record.limit == rule.limit and record.capacity == rule.capacity)
  end
  for _, record in ipairs(records) do
   for _, rule in ipairs(rules) do record.own = record.own or counts_alike(record, rule) end
  end
  for pass = 1, 3 do
   for r, rule in ipairs(rules) do
    for _, record in ipairs(records) do
     if sources[r] then break end
     if pass == 1 and record.name == rule.name and not record.named or pass == 2 and counts_alike(record, rule) then
      sources[r], record.named = record, true
     elseif pass == 3 and record.kind == rule.kind and record.stop > now and not is_log[rule.kind]
      and not record.own and not record.given and not record.copied then
      sources[r], record.given, ends, dirty = record, true, ends or {}, true
      ends[r] = record.stop
     end
    end
    if pass == 3 and is_log[rule.kind] and not sources[r] then
     local counted = 0
     for _, record in ipairs(records) do
      local kind, words = record.kind, record.words
      if kind == 5 then -- sliding-log
       if words[2] > counted then counted, sources[r] = words[2], record end
      end
     end
    end
   end
  end
  if sources[1] then count_1, stop_1, last_1 = unpack(sources[1].words) else count_1, stop_1, last_1 = 0, 0, 0 end
  if sources[2] then count_2, last_2 = unpack(sources[2].words) else count_2, last_2 = 0, 0 end
  if sources[3] then last_3, current_3, previous_3 = unpack(sources[3].words) else last_3, current_3, previous_3 = 0, 0, 0 end
  if sources[4] then tat_4, part_4, last_4 = unpack(sources[4].words) else tat_4, part_4, last_4 = 0, 0, 0 end
  if sources[5] then first_5, used_5, time_5, total_5 = unpack(sources[5].words) else first_5, used_5, time_5, total_5 = 0, 0, 0, 0 end
  others = {}
  for _, record in ipairs(records) do
   if record.kept and not record.own then others[#others + 1] = record end
  end
  while #others > 10 do
   local first = 1
   for n, record in ipairs(others) do
    if record.stop < others[first].stop then first = n end
   end
   table.remove(others, first)
  end
  names = ''
  local function add_name(name, given)
   names = names .. (given and string.char(string.byte(name) + 128) .. string.sub(name, 2) or name)
  end
  for r, rule in ipairs(rules) do
   layout[r] = sources[r] or false
   add_name(rule.name, sources[r] and sources[r].own and sources[r].given)
  end
  for _, record in ipairs(others) do
   layout[#layout + 1], other_size = record, other_size + #record.name + 8 * #record.words
   add_name(record.name, record.given)
   others_until = math.max(others_until, record.stop)
  end
  other_count = #others
  local moved, old_size, nothing = #layout ~= #records, hold_size, string.rep('\0', 16)
  buckets = 0
  for n, record in ipairs(layout) do
   moved = moved or not record or record.index ~= n
   if is_bucket[(rules[n] or record).kind] then buckets = buckets + 1 end
  end
  hold_size = 53 + 16 * buckets
  if moved and holds ~= '' then
   local arranged = {}
   marks = 0
   for hold = 1, #holds, old_size do
    local counted, new, shares = struct.unpack('<I4', holds, hold + 53 - 4), 0, ''
    for n, record in ipairs(layout) do
     if record and bit.band(counted, 2 ^ (record.index - 1)) > 0 then new = new + 2 ^ (n - 1) end
     if is_bucket[(rules[n] or record).kind] then
      shares = shares .. (record and string.sub(holds, hold + record.slot, hold + record.slot + 16 - 1) or nothing)
     end
    end
    marks = bit.bor(marks, new)
    arranged[#arranged + 1] = string.sub(holds, hold, hold + 53 - 5) .. struct.pack('<I4', new) .. shares
   end
   holds = table.concat(arranged)
  end
  do -- rule 1
   local kept = sources[1]
   if kept and not kept.own then stop_1, last_1 = math.min(stop_1, last_1 + period_1), 0 end
  end
  do -- rule 3
   local kept = sources[3]
   if kept and not kept.own then
    local window, here, before = now - now % period_3, 0, 0
    local function count(charged, amount)
     local place = charged - charged % period_3
     if place == window then
      here = here + amount
     elseif place == window - period_3 then
      before = before + amount
     end
    end
    count(last_3, current_3)
    local start = last_3 - last_3 % kept.period
    if start > 0 then count(start - 1, previous_3) end
    current_3, previous_3, last_3 = here, before, math.max(last_3, window)
   end
  end
  do -- rule 4
   local kept = sources[4]
   if kept and not kept.own and (kept.limit ~= limit_4 or kept.period ~= period_4) then
    local function refilled(filled, part)
     local taken = (filled - last_4) * kept.limit + part
     local wanted = taken * period_4
     if taken < 2^53 and wanted < 2^53 then
      local rest = wanted % kept.period
      wanted = (wanted - rest) / kept.period + (rest > 0 and 1 or 0)
      rest = wanted % limit_4
      return last_4 + (wanted - rest) / limit_4, rest
     end
     local ahead = filled - last_4 + part / kept.limit
     ahead = ahead * kept.limit / kept.period * period_4 / limit_4
     return last_4 + math.min(math.ceil(ahead), full_4 + 1), 0
    end
    if tat_4 >= last_4 then tat_4, part_4 = refilled(tat_4, part_4) else part_4 = 0 end
    for hold = 1, #holds, hold_size do
     local filled, part = struct.unpack('<I8I8', holds, hold + 53)
     if filled >= last_4 then
      holds = string.sub(holds, 1, hold + 53 - 1) .. struct.pack('<I8I8', refilled(filled, part))
       .. string.sub(holds, hold + 53 + 16)
     end
    end
   end
  end
  do -- rule 5
   if not sources[5] then first_5 = next end
  end
  if block_until > now + block_length then
   block_until, dirty = now + block_length, true
  end
 end
end
if last > now and next > 0 then
 local oldest, low, from = next, nil, next - 1
 do -- rule 5
  if first_5 < oldest then oldest = first_5 end
 end
 if other_count > 0 then
  for _, record in ipairs(others) do
   local kind, words = record.kind, record.words
   if kind == 5 then -- sliding-log
    if words[1] < oldest then oldest = words[1] end
   end
  end
 end
 low = oldest
 while low < from do
  local middle = low + (from - low - (from - low) % 2) / 2
  if entry(middle) > now then from = middle else low = middle + 1 end
 end
 next, last, logged, dirty = from + 1, now, true, true
 do -- rule 5
  if first_5 >= from then first_5, time_5, total_5 = from, last, sum end
 end
 if other_count > 0 then
  for _, record in ipairs(others) do
   local kind, words = record.kind, record.words
   if kind == 5 then -- sliding-log
    if words[1] >= from then words[1], words[3], words[4] = from, last, sum end
   end
  end
 end
end
do -- rule 5
 if first_5 == next or last <= now - period_5 then
  used_5 = 0
 elseif time_5 <= now - period_5 then
  local gone
  first_5, time_5, total_5, gone = beyond(first_5, total_5, now - period_5)
  used_5 = first_5 == next and 0 or math.min(used_5, (sum - gone) % 2^40)
 end
 if used_5 == 0 then
  first_5, time_5, total_5 = next, 0, 0
 elseif time_5 > last then
  time_5, dirty = last, true
 end
end
if other_count > 0 then
 for _, record in ipairs(others) do
  local kind, words = record.kind, record.words
  if kind == 5 then -- sliding-log
   if words[1] == next or last <= now - record.period then
    words[2] = 0
   elseif words[3] <= now - record.period then
    local gone
    words[1], words[3], words[4], gone = beyond(words[1], words[4], now - record.period)
    words[2] = words[1] == next and 0 or math.min(words[2], (sum - gone) % 2^40)
   end
   if words[2] == 0 then
    words[1], words[3], words[4] = next, 0, 0
   elseif words[3] > last then
    words[3], dirty = last, true
   end
  end
  if kind == 5 then -- sliding-log
   if (sum - words[4]) % 2^40 >= record.limit then
    local gone
    words[1], words[3], words[4], gone = beyond(words[1], words[4], nil, record.limit - 1)
    words[2] = math.min(words[2], (sum - gone) % 2^40)
   end
  end
 end
end
do -- rule 1
 local back = last_1 > now
 if back then last_1 = now end
 if stop_1 > last_1 + period_1 then
  if last_1 > 0 then
   stop_1 = last_1 + period_1
  elseif stop_1 > now + period_1 then
   stop_1, back = now + period_1, true
  end
 end
 if count_1 == 0 or stop_1 <= now then
  count_1, stop_1, last_1 = 0, 0, 0
 elseif back then
  dirty = true
 end
end
do -- rule 2
 if count_2 == 0 or last_2 < now - now % period_2 then
  count_2, last_2 = 0, 0
 elseif last_2 > now then
  last_2, dirty = now, true
 end
end
do -- rule 3
 local window, back = now - now % period_3, last_3 > now
 if back then last_3 = now end
 if last_3 < window then
  previous_3 = last_3 >= window - period_3 and current_3 or 0
  current_3, last_3 = 0, window
 end
 if current_3 == 0 and previous_3 == 0 then
  last_3 = 0
 elseif back then
  dirty = true
 end
end
do -- rule 4
 local back = last_4 > now
 if back then last_4 = now end
 if part_4 >= limit_4 then part_4 = 0 end
 if tat_4 - last_4 > full_4 or tat_4 - last_4 == full_4 and part_4 > full_part_4 then
  tat_4, part_4 = last_4 + full_4, full_part_4
 end
 if tat_4 < now or tat_4 == now and part_4 == 0 then
  tat_4, part_4, last_4 = 0, 0, 0
 elseif back then
  dirty = true
 end
end
if holds ~= '' then
 local over = 0
 if count_1 == 0 and bit.band(marks, 1) > 0 then over = over + 1 end
 if count_2 == 0 and bit.band(marks, 2) > 0 then over = over + 2 end
 if current_3 == 0 and previous_3 == 0 and bit.band(marks, 4) > 0 then over = over + 4 end
 if tat_4 == 0 and bit.band(marks, 8) > 0 then over = over + 8 end
 if used_5 == 0 and bit.band(marks, 16) > 0 then over = over + 16 end
 if earliest <= now or newest > now or over > 0 then
  local remaining, every = {}, 2 ^ (5 + other_count) - 1
  earliest, latest, newest, marks, dirty = 2^53, 0, 0, 0, true
  for hold = 1, #holds, hold_size do
   local id, since, stop, held, owed, state, counted = struct.unpack(HOLD, holds, hold)
   if stop < 2^53 and since <= stop and stop - since <= 3153600000000000 and held <= 2^52 and owed <= 2^52 then
    counted = bit.band(counted, every - over)
    if since > now then
     since, stop = now, now + (stop - since)
    end
    local amount = state == 2 and owed or state == 1 and stop <= now and held or 0
    if amount > 0 then
     if bit.band(counted, 1) > 0 then -- rule 1
      count_1 = count_1 - amount
      if count_1 <= 0 then count_1, stop_1, last_1 = 0, 0, now end
     end
     if bit.band(counted, 2) > 0 then -- rule 2
      count_2 = count_2 - amount
      if count_2 <= 0 then count_2, last_2 = 0, now end
     end
     if bit.band(counted, 4) > 0 then -- rule 3
      local window, given = now - now % period_3, amount
      if since >= window then
       given = math.max(0, amount - current_3)
       current_3 = math.max(0, current_3 - amount)
      end
      if since >= window - period_3 then previous_3 = math.max(0, previous_3 - given) end
      if current_3 == 0 and previous_3 == 0 then last_3 = now end
     end
     if bit.band(counted, 8) > 0 then -- rule 4
      local given = math.min(amount, capacity_4)
      local rest = given * step_part_4
      local time = given * step_4 + (rest - rest % limit_4) / limit_4
      rest = rest % limit_4
      if hold then
       local open, part = struct.unpack('<I8I8', holds, hold + 53)
       if open < now or part >= limit_4 then part = 0 end
       open = open < now and 0 or open - now
       if time > open or time == open and rest > part then time, rest = open, part end
      end
      tat_4, part_4 = (tat_4 > 0 and tat_4 or now) - time, part_4 - rest
      if part_4 < 0 then tat_4, part_4 = tat_4 - 1, part_4 + limit_4 end
      if tat_4 < now or tat_4 == now and part_4 == 0 then tat_4, part_4, last_4 = 0, 0, now end
     end
     if bit.band(counted, 16) > 0 then -- rule 5
      if since > now - period_5 then used_5 = math.max(0, used_5 - amount) end
      if used_5 == 0 then
       first_5, time_5, total_5 = next, 0, 0
      elseif (sum - total_5) % 2^40 >= used_5 then
       first_5, time_5, total_5 = beyond(first_5, total_5, nil, used_5 - 1)
      end
     end
     counted = counted - bit.band(counted, 31)
    end
    local waits = amount > 0 and counted > 0
    if state == 2 and not waits then owed, counted = 0, 0 end
    if stop > now or waits then
     remaining[#remaining + 1] = struct.pack(HOLD, id, since, stop, held, owed, state, counted)
      .. string.sub(holds, hold + 53, hold + hold_size - 1)
     earliest, latest, newest = math.min(earliest, waits and 0 or stop), math.max(latest, stop), math.max(newest, since)
     marks = bit.bor(marks, counted)
    end
   end
  end
  over = 0
  if count_1 == 0 and bit.band(marks, 1) > 0 then over = over + 1 end
  if count_2 == 0 and bit.band(marks, 2) > 0 then over = over + 2 end
  if current_3 == 0 and previous_3 == 0 and bit.band(marks, 4) > 0 then over = over + 4 end
  if tat_4 == 0 and bit.band(marks, 8) > 0 then over = over + 8 end
  if used_5 == 0 and bit.band(marks, 16) > 0 then over = over + 16 end
  if over > 0 then
   for n, hold in ipairs(remaining) do
    local counted = struct.unpack('<I4', hold, 50)
    remaining[n] = string.sub(hold, 1, 49) .. struct.pack('<I4', bit.band(counted, every - over)) .. string.sub(hold, 54)
   end
   marks = marks - over
  end
  holds = table.concat(remaining)
 end
end
local cost = ARGV[3] + 0.0
local look = cost <= 0
if look then cost = -cost end
do -- rule 1
 if count_1 + cost > limit_1 then
  wait_1 = cost > limit_1 and -1 or stop_1 - now
 end
end
do -- rule 2
 if count_2 + cost > limit_2 then
  wait_2 = cost > limit_2 and -1 or period_2 - now % period_2
 end
end
do -- rule 3
 if cost > limit_3 then
  wait_3 = -1
 else
  local current, previous = current_3, previous_3
  if current > limit_3 then current = limit_3 end
  if previous > limit_3 then previous = limit_3 end
  local space, gone = limit_3 - current - cost, now % period_3
  if space < 0 then
   wait_3 = 2 * period_3 - gone - share(math.min(limit_3 - cost, current), period_3, current)
  elseif previous - share(gone, previous, period_3) > space then
   wait_3 = period_3 - gone - share(space, period_3, previous)
  end
 end
end
do -- rule 4
 if cost > capacity_4 then
  wait_4 = -1
 else
  local part = part_4 + cost * step_part_4
  local missing = (tat_4 > 0 and tat_4 - now or 0) + cost * step_4 + (part - part % limit_4) / limit_4 - full_4
  part = part % limit_4 - full_part_4
  if missing > 0 or missing == 0 and part > 0 then
   wait_4 = missing + (part > 0 and 1 or 0)
  end
 end
end
do -- rule 5
 if used_5 + cost > limit_5 then
  if cost > limit_5 then
   wait_5 = -1
  else
   local time = time_5
   if (sum - total_5) % 2^40 > limit_5 - cost then
    local _
    _, time = beyond(first_5, total_5, nil, limit_5 - cost)
   end
   if time <= now - period_5 or time > last then time = last end
   wait_5 = time + period_5 - now
  end
 end
end
local admitted = block_until <= now
if wait_1 ~= 0 then admitted = false end
if wait_2 ~= 0 then admitted = false end
if wait_3 ~= 0 then admitted = false end
if wait_4 ~= 0 then admitted = false end
if wait_5 ~= 0 then admitted = false end
local charged = admitted and not look
local write = charged or dirty and not look
if charged then
 added = cost
 do -- rule 5
  if used_5 + added > 2^39 then added = 2^39 - used_5 end
 end
 if next == 0 or last < now then
  next, last = next + 1, now
 end
 sum, logged = (sum + added) % 2^40, true
 do -- rule 5
  if first_5 >= next - 1 then first_5, time_5, total_5 = next - 1, last, sum end
  used_5 = math.min(used_5 + added, 2^39)
 end
 if other_count > 0 then
  for _, record in ipairs(others) do
   local kind, words = record.kind, record.words
   if kind == 5 then -- sliding-log
    if words[1] >= next - 1 then words[1], words[3], words[4] = next - 1, last, sum end
    words[2] = math.min(words[2] + added, 2^39)
   end
   if record.own_last then others_until = math.max(others_until, now + record.period) end
  end
 end
 do -- rule 1
  if count_1 == 0 or last_1 == 0 then stop_1 = now + period_1 end
  count_1, last_1 = count_1 + cost, now
  if count_1 > 2^52 then count_1 = 2^52 end
 end
 do -- rule 2
  count_2, last_2 = count_2 + cost, now
  if count_2 > 2^52 then count_2 = 2^52 end
 end
 do -- rule 3
  last_3, current_3 = now, current_3 + cost
  if current_3 > 2^52 then current_3 = 2^52 end
 end
 do -- rule 4
  local taken_4 = cost
  if taken_4 > capacity_4 then taken_4 = capacity_4 end
  part_4 = part_4 + taken_4 * step_part_4
  tat_4 = (tat_4 > 0 and tat_4 or now) + taken_4 * step_4 + (part_4 - part_4 % limit_4) / limit_4
  part_4, last_4 = part_4 % limit_4, now
  if tat_4 - now > full_4 or tat_4 - now == full_4 and part_4 > full_part_4 then
   tat_4, part_4 = now + full_4, full_part_4
  end
 end
end
do -- rule 1
 left_1, reset_1 = limit_1 - count_1, stop_1 - now
end
do -- rule 2
 left_2, reset_2 = limit_2 - count_2, count_2 > 0 and period_2 - now % period_2 or 0
end
do -- rule 3
 local gone, previous = now % period_3, previous_3
 if previous > limit_3 then previous = limit_3 end
 left_3 = limit_3 - current_3 - previous + share(gone, previous, period_3)
 reset_3 = current_3 > 0 and 2 * period_3 - gone or previous_3 > 0 and period_3 - gone or 0
end
do -- rule 4
 left_4, reset_4 = capacity_4, 0
 if tat_4 > 0 then
  local used = tat_4 - now
  reset_4 = part_4 > 0 and used + 1 or used
  local dividend, gone = used * limit_4 + part_4, 0
  if dividend < 2^53 then
   local rest = dividend % period_4
   gone = (dividend - rest) / period_4
   if rest > 0 then gone = gone + 1 end
  else
   local function covers(count)
    local part = count * step_part_4
    local time = count * step_4 + (part - part % limit_4) / limit_4
    return time > used or time == used and part % limit_4 >= part_4
   end
   gone = math.ceil(dividend / period_4)
   while gone > 0 and covers(gone - 1) do gone = gone - 1 end
   while not covers(gone) do gone = gone + 1 end
  end
  left_4 = capacity_4 - gone
 end
end
do -- rule 5
 left_5, reset_5 = limit_5 - used_5, used_5 > 0 and last + period_5 - now or 0
end
if left_1 < 0 then left_1 = 0 end
if reset_1 < 0 then reset_1 = 0 end
if left_2 < 0 then left_2 = 0 end
if reset_2 < 0 then reset_2 = 0 end
if left_3 < 0 then left_3 = 0 end
if reset_3 < 0 then reset_3 = 0 end
if left_4 < 0 then left_4 = 0 end
if reset_4 < 0 then reset_4 = 0 end
if left_5 < 0 then left_5 = 0 end
if reset_5 < 0 then reset_5 = 0 end
if ends and not write then
 if ends[1] then wait_1, reset_1 = math.min(wait_1, ends[1] - now), math.min(reset_1, ends[1] - now) end
 if ends[2] then wait_2, reset_2 = math.min(wait_2, ends[2] - now), math.min(reset_2, ends[2] - now) end
 if ends[3] then wait_3, reset_3 = math.min(wait_3, ends[3] - now), math.min(reset_3, ends[3] - now) end
 if ends[4] then wait_4, reset_4 = math.min(wait_4, ends[4] - now), math.min(reset_4, ends[4] - now) end
 if ends[5] then wait_5, reset_5 = math.min(wait_5, ends[5] - now), math.min(reset_5, ends[5] - now) end
end
local blocked = block_until > now and block_until - now or 0
if write then
 local life = blocked
 if holds ~= '' and latest - now > life then life = latest - now end
 if others_until - now > life then life = others_until - now end
 if reset_1 > life then life = reset_1 end
 if reset_2 > life then life = reset_2 end
 if reset_3 > life then life = reset_3 end
 if reset_4 > life then life = reset_4 end
 if reset_5 > life then life = reset_5 end
 if life > 0 then
  local ttl = math.ceil(life / 1000) + 1
  if virtual and ttl < 3600000 then ttl = 3600000 end
  local tail = ''
  if blocked > 0 then tail = struct.pack('<BI8I8', 0, block_length, block_until) end
  if holds ~= '' then
   tail = tail .. struct.pack('<BI8I8I8I8I8', 251, earliest, latest, newest, marks, #holds / hold_size) .. holds
  end
  local oldest = next
  do -- rule 5
   if first_5 < oldest then oldest = first_5 end
  end
  if other_count > 0 then
   for _, record in ipairs(others) do
    local kind, words = record.kind, record.words
    if kind == 5 then -- sliding-log
     if words[1] < oldest then oldest = words[1] end
    end
   end
  end
  local live = next - oldest
  local start = 207 + 41 - 1 + other_size
  if base ~= start or live > room or room > 16 + live + live / 2 then
   local ring, count = '', live - 1
   if live > 0 then
    if count > 0 then
     local slot = oldest % room
     local straight = math.min(count, room - slot)
     ring = redis.call('GETRANGE', KEYS[1], base + 12 * slot, base + 12 * (slot + straight) - 1)
     if straight < count then
      ring = ring .. redis.call('GETRANGE', KEYS[1], base, base + 12 * (count - straight) - 1)
     end
     ring = ring .. string.rep('\0', 12 * count - #ring)
    end
    ring = ring .. struct.pack('<I7I5', last, sum)
   end
   do -- rule 5
    first_5 = first_5 - oldest
   end
   if other_count > 0 then
    for _, record in ipairs(others) do
     local kind, words = record.kind, record.words
     if kind == 5 then -- sliding-log
      words[1] = words[1] - oldest
     end
    end
   end
   next, room, base = live, live + (live - live % 4) / 4 + 8, start
   ring = ring .. string.rep('\0', 12 * (room - live))
   local head
   head = heading .. struct.pack('<I8I8I8I8I8I8I8I8I8I8I8I8I8I8I8', count_1, stop_1, last_1, count_2, last_2, last_3, current_3, previous_3, tat_4, part_4, last_4, first_5, used_5, time_5, total_5)
   if names then
    head = string.sub(heading, 1, 3) .. string.char(5 + other_count) .. names .. string.sub(head, #heading + 1)
    for _, record in ipairs(others) do
     local kind, words = record.kind, record.words
     if kind == 5 then -- sliding-log
      words[3], words[4] = record.own_last, words[4] + 2^40
     end
     head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
    end
   end
   head = head .. struct.pack(LOG, 250, next, sum, last, room, base + 12 * room + #tail)
   sets[#sets + 1] = {KEYS[1], head .. ring .. tail, ttl}
  else
   local head
   head = heading .. struct.pack('<I8I8I8I8I8I8I8I8I8I8I8I8I8I8I8', count_1, stop_1, last_1, count_2, last_2, last_3, current_3, previous_3, tat_4, part_4, last_4, first_5, used_5, time_5, total_5)
   if names then
    head = string.sub(heading, 1, 3) .. string.char(5 + other_count) .. names .. string.sub(head, #heading + 1)
    for _, record in ipairs(others) do
     local kind, words = record.kind, record.words
     if kind == 5 then -- sliding-log
      words[3], words[4] = record.own_last, words[4] + 2^40
     end
     head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
    end
   end
   head = head .. struct.pack(LOG, 250, next, sum, last, room, base + 12 * room + #tail)
   expiries[#expiries + 1] = {KEYS[1], ttl}
   if logged then
    ranges[#ranges + 1] = {KEYS[1], base + 12 * ((next - 1) % room), struct.pack('<I7I5', last, sum)}
   end
   if tail ~= '' then ranges[#ranges + 1] = {KEYS[1], base + 12 * room, tail} end
   ranges[#ranges + 1] = {KEYS[1], '0', head}
  end
 elseif value then
  dels[#dels + 1] = KEYS[1]
 end
end
local reply = {1, now, write and foreign and 1 or 0, blocked, wait_1, left_1, reset_1, wait_2, left_2, reset_2, wait_3, left_3, reset_3, wait_4, left_4, reset_4, wait_5, left_5, reset_5}
reply = {1, now, 5, cost, reply[3], blocked, limit_1, wait_1, left_1, reset_1, limit_2, wait_2, left_2, reset_2, limit_3, wait_3, left_3, reset_3, capacity_4, wait_4, left_4, reset_4, limit_5, wait_5, left_5, reset_5}
if charged then
 local ttl = math.ceil(memory / 1000) + 1
 if virtual and ttl < 3600000 then ttl = 3600000 end
 local answer = struct.pack('<I8' .. string.rep('i8', #reply - 2), now + memory, unpack(reply, 3))
 sets[#sets + 1] = {KEYS[#KEYS], 'QR\1' .. answer, ttl}
end
if #dels > 0 and #sets > 0 then redis.call('SET', dels[1], '', 'NX') end
if #ranges > 0 then redis.call('SETRANGE', ranges[1][1], '0', '') end
for _, key in ipairs(dels) do redis.call('DEL', key) end
for _, expiry in ipairs(expiries) do redis.call('PEXPIRE', expiry[1], expiry[2]) end
for _, set in ipairs(sets) do redis.call('SET', set[1], set[2], 'PX', set[3]) end
for _, range in ipairs(ranges) do redis.call('SETRANGE', range[1], range[2], range[3]) end
return reply
