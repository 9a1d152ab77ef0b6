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
local at = 3
local name_sizes, word_names = {15, 15, 15, 22, 15}, {{'count', 'stop', 'last'}, {'count', 'last'}, {'last', 'current', 'previous'}, {'tat', 'part', 'last'}, {'first', 'used', 'time', 'total'}}
local fresh_words = {{'count'}, {'count'}, {'current', 'previous'}, {'tat'}, {'used'}}
local is_bucket, is_log = {[4] = true}, {[5] = true}
local heading, list, with_log, behind = ARGV[at + 1], {}, false, at + 2
local name_at, word_count, usual_holds = 5, 0, 53
for number = 1, string.byte(heading, 4) do
 local id = string.byte(heading, name_at)
 local rule = {id = id, number = number, mark = 2 ^ (number - 1), wait = 0, left = 0, reset = 0}
 rule.name = string.sub(heading, name_at, name_at + name_sizes[id] - 1)
 rule.limit, rule.period = ARGV[behind] + 0.0, ARGV[behind + 1] + 0.0
 behind, name_at, word_count = behind + 2, name_at + name_sizes[id], word_count + #word_names[id]
 if is_bucket[id] then
  rule.capacity, rule.filled = ARGV[behind] + 0.0, usual_holds
  behind, usual_holds = behind + 1, usual_holds + 16
 end
 for _, word in ipairs(word_names[id]) do rule[word] = 0 end
 list[number], with_log = rule, with_log or is_log[id]
end
local usual_size, format = #heading + 8 * word_count + (with_log and 41 or 0), '<' .. string.rep('I8', word_count)
local every_rule = 2 ^ #list - 1
local function is_fresh(rule)
 for _, word in ipairs(fresh_words[rule.id]) do
  if rule[word] ~= 0 then return false end
 end
 return true
end
local value
if with_log then
 value = redis.call('GETRANGE', KEYS[1], '0', usual_size - 1)
end
if not with_log then
 value = redis.call('GETRANGE', KEYS[1], '0', '1023')
end
local HOLD = '<c16I8I8I8I8BI4'
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
for _, rule in ipairs(list) do
 if rule.id == 4 then -- token-bucket
  rule.step, rule.step_part, rule.full, rule.full_part = rule.period, 0, rule.capacity * rule.period, 0
  if rule.limit > 1 then
   rule.step_part = rule.period % rule.limit
   rule.step, rule.full_part = (rule.period - rule.step_part) / rule.limit, rule.capacity * rule.step_part
   rule.full = rule.capacity * rule.step + (rule.full_part - rule.full_part % rule.limit) / rule.limit
   rule.full_part = rule.full_part % rule.limit
  end
 end
end
local foreign, dirty, block_length, block_until = false, false, 0, 0
local holds, hold_size, earliest, latest, newest, marks = '', usual_holds, 0, 0, 0, 0
local other_count, names, other_size, others_until, others, other_log, ends = 0, nil, 0, 0, nil, nil, nil
if value == '' then value = nil end
if value then
 local fits = #value == usual_size and string.sub(value, 1, #heading) == heading
 if fits then
  local words, number = {struct.unpack(format, value, #heading + 1)}, 0
  for _, rule in ipairs(list) do
   local together = 0
   for _, word in ipairs(word_names[rule.id]) do
    number = number + 1
    rule[word], together = words[number], together + words[number]
   end
   fits = fits and together < 2^53
  end
if with_log then
   local id, stop
   id, next, sum, last, room, stop, base = struct.unpack(LOG, value, #heading + 8 * word_count + 1)
   base = base - 1
   fits = fits and id == 250 and stop == base + 12 * room and next < 2^53 and sum < 2^40 and last < 2^53
   for _, rule in ipairs(list) do
    if rule.id == 5 then -- sliding-log
     fits = fits and rule.first <= next and next - rule.first <= room and rule.used <= 2^39 and rule.total < 2^40
    end
   end
end
 end
 if not fits then
  local counts, sizes = {3, 2, 3, 3, 4}, {15, 15, 15, 22, 15}
  local records, sources, layout, position, stage, log, buckets = {}, {}, {}, 5, 0, nil, 0
  if with_log then
   value = redis.call('GETRANGE', KEYS[1], '0', '1023')
   next, sum, last, room, base = 0, 0, 0, 0, 0
  end
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
  if with_log then
      foreign = foreign or #value ~= 1024 and stop > #value
  end
  if not with_log then
      foreign = foreign or redis.call('GETRANGE', KEYS[1], stop - 1, stop - 1) == ''
  end
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
  if with_log then
   if log and not foreign then next, sum, last, room, base = log.next, log.sum, log.last, log.room, log.base end
  end
  for _, record in ipairs(records) do
   local kind, words = record.kind, record.words
   if is_log[kind] and not foreign then
    if kind == 5 then -- sliding-log
     record.own_last = log and log.last or 0
     if words[4] >= 2^40 then record.own_last, words[4], record.aside = words[3], words[4] - 2^40, true end
    end
  if with_log then
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
  end
  if with_log then
   if foreign then next, sum, last, room, base = 0, 0, 0, 0, 0 end
  end
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
  for _, rule in ipairs(list) do
   rules[rule.number] = {name = rule.name, kind = rule.id, limit = rule.limit, period = rule.period, capacity = (rule.capacity or rule.limit)}
  end
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
  if with_log then
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
  end
  for r, rule in ipairs(list) do
   for n, word in ipairs(word_names[rule.id]) do rule[word] = sources[r] and sources[r].words[n] or 0 end
  end
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
  if not with_log then
    if is_log[record.kind] then other_log = log end
  end
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
  for _, rule in ipairs(list) do
   if rule.id == 1 then -- fixed-window
    local kept = sources[rule.number]
    if kept and not kept.own then rule.stop, rule.last = math.min(rule.stop, rule.last + rule.period), 0 end
   elseif rule.id == 3 then -- sliding-window
    local kept = sources[rule.number]
    if kept and not kept.own then
     local window, here, before = now - now % rule.period, 0, 0
     local function count(charged, amount)
      local place = charged - charged % rule.period
      if place == window then
       here = here + amount
      elseif place == window - rule.period then
       before = before + amount
      end
     end
     count(rule.last, rule.current)
     local start = rule.last - rule.last % kept.period
     if start > 0 then count(start - 1, rule.previous) end
     rule.current, rule.previous, rule.last = here, before, math.max(rule.last, window)
    end
   elseif rule.id == 4 then -- token-bucket
    local kept = sources[rule.number]
    if kept and not kept.own and (kept.limit ~= rule.limit or kept.period ~= rule.period) then
     local function refilled(filled, part)
      local taken = (filled - rule.last) * kept.limit + part
      local wanted = taken * rule.period
      if taken < 2^53 and wanted < 2^53 then
       local rest = wanted % kept.period
       wanted = (wanted - rest) / kept.period + (rest > 0 and 1 or 0)
       rest = wanted % rule.limit
       return rule.last + (wanted - rest) / rule.limit, rest
      end
      local ahead = filled - rule.last + part / kept.limit
      ahead = ahead * kept.limit / kept.period * rule.period / rule.limit
      return rule.last + math.min(math.ceil(ahead), rule.full + 1), 0
     end
     if rule.tat >= rule.last then rule.tat, rule.part = refilled(rule.tat, rule.part) else rule.part = 0 end
     for hold = 1, #holds, hold_size do
      local filled, part = struct.unpack('<I8I8', holds, hold + rule.filled)
      if filled >= rule.last then
       holds = string.sub(holds, 1, hold + rule.filled - 1) .. struct.pack('<I8I8', refilled(filled, part))
        .. string.sub(holds, hold + rule.filled + 16)
      end
     end
    end
   elseif rule.id == 5 then -- sliding-log
    if not sources[rule.number] then rule.first = next end
   end
  end
  if block_until > now + block_length then
   block_until, dirty = now + block_length, true
  end
 end
end
if with_log then
 if last > now and next > 0 then
  local oldest, low, from = next, nil, next - 1
  for _, rule in ipairs(list) do
   if rule.id == 5 then -- sliding-log
    if rule.first < oldest then oldest = rule.first end
   end
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
  for _, rule in ipairs(list) do
   if rule.id == 5 then -- sliding-log
    if rule.first >= from then rule.first, rule.time, rule.total = from, last, sum end
   end
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
 for _, rule in ipairs(list) do
  if rule.id == 5 then -- sliding-log
   if rule.first == next or last <= now - rule.period then
    rule.used = 0
   elseif rule.time <= now - rule.period then
    local gone
    rule.first, rule.time, rule.total, gone = beyond(rule.first, rule.total, now - rule.period)
    rule.used = rule.first == next and 0 or math.min(rule.used, (sum - gone) % 2^40)
   end
   if rule.used == 0 then
    rule.first, rule.time, rule.total = next, 0, 0
   elseif rule.time > last then
    rule.time, dirty = last, true
   end
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
end
for _, rule in ipairs(list) do
 if rule.id == 1 then -- fixed-window
  local back = rule.last > now
  if back then rule.last = now end
  if rule.stop > rule.last + rule.period then
   if rule.last > 0 then
    rule.stop = rule.last + rule.period
   elseif rule.stop > now + rule.period then
    rule.stop, back = now + rule.period, true
   end
  end
  if rule.count == 0 or rule.stop <= now then
   rule.count, rule.stop, rule.last = 0, 0, 0
  elseif back then
   dirty = true
  end
 elseif rule.id == 2 then -- calendar-window
  if rule.count == 0 or rule.last < now - now % rule.period then
   rule.count, rule.last = 0, 0
  elseif rule.last > now then
   rule.last, dirty = now, true
  end
 elseif rule.id == 3 then -- sliding-window
  local window, back = now - now % rule.period, rule.last > now
  if back then rule.last = now end
  if rule.last < window then
   rule.previous = rule.last >= window - rule.period and rule.current or 0
   rule.current, rule.last = 0, window
  end
  if rule.current == 0 and rule.previous == 0 then
   rule.last = 0
  elseif back then
   dirty = true
  end
 elseif rule.id == 4 then -- token-bucket
  local back = rule.last > now
  if back then rule.last = now end
  if rule.part >= rule.limit then rule.part = 0 end
  if rule.tat - rule.last > rule.full or rule.tat - rule.last == rule.full and rule.part > rule.full_part then
   rule.tat, rule.part = rule.last + rule.full, rule.full_part
  end
  if rule.tat < now or rule.tat == now and rule.part == 0 then
   rule.tat, rule.part, rule.last = 0, 0, 0
  elseif back then
   dirty = true
  end
 end
end
if holds ~= '' then
 local over = 0
for _, rule in ipairs(list) do
  if is_fresh(rule) and bit.band(marks, rule.mark) > 0 then over = over + rule.mark end
end
 if earliest <= now or newest > now or over > 0 then
  local remaining, every = {}, 2 ^ (#list + other_count) - 1
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
     for _, rule in ipairs(list) do
      if bit.band(counted, rule.mark) > 0 and rule.id == 1 then -- fixed-window
       rule.count = rule.count - amount
       if rule.count <= 0 then rule.count, rule.stop, rule.last = 0, 0, now end
      elseif bit.band(counted, rule.mark) > 0 and rule.id == 2 then -- calendar-window
       rule.count = rule.count - amount
       if rule.count <= 0 then rule.count, rule.last = 0, now end
      elseif bit.band(counted, rule.mark) > 0 and rule.id == 3 then -- sliding-window
       local window, given = now - now % rule.period, amount
       if since >= window then
        given = math.max(0, amount - rule.current)
        rule.current = math.max(0, rule.current - amount)
       end
       if since >= window - rule.period then rule.previous = math.max(0, rule.previous - given) end
       if rule.current == 0 and rule.previous == 0 then rule.last = now end
      elseif bit.band(counted, rule.mark) > 0 and rule.id == 4 then -- token-bucket
       local given = math.min(amount, rule.capacity)
       local rest = given * rule.step_part
       local time = given * rule.step + (rest - rest % rule.limit) / rule.limit
       rest = rest % rule.limit
       if hold then
        local open, part = struct.unpack('<I8I8', holds, hold + rule.filled)
        if open < now or part >= rule.limit then part = 0 end
        open = open < now and 0 or open - now
        if time > open or time == open and rest > part then time, rest = open, part end
       end
       rule.tat, rule.part = (rule.tat > 0 and rule.tat or now) - time, rule.part - rest
       if rule.part < 0 then rule.tat, rule.part = rule.tat - 1, rule.part + rule.limit end
       if rule.tat < now or rule.tat == now and rule.part == 0 then rule.tat, rule.part, rule.last = 0, 0, now end
      elseif bit.band(counted, rule.mark) > 0 and rule.id == 5 then -- sliding-log
       if since > now - rule.period then rule.used = math.max(0, rule.used - amount) end
       if rule.used == 0 then
        rule.first, rule.time, rule.total = next, 0, 0
       elseif (sum - rule.total) % 2^40 >= rule.used then
        rule.first, rule.time, rule.total = beyond(rule.first, rule.total, nil, rule.used - 1)
       end
      end
     end
     counted = counted - bit.band(counted, every_rule)
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
  for _, rule in ipairs(list) do
   if is_fresh(rule) and bit.band(marks, rule.mark) > 0 then over = over + rule.mark end
  end
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
local cost, write = 1, true
for _, rule in ipairs(list) do
 if rule.id == 1 then -- fixed-window
  if rule.count + cost > rule.limit then
   rule.wait = cost > rule.limit and -1 or rule.stop - now
  end
 elseif rule.id == 2 then -- calendar-window
  if rule.count + cost > rule.limit then
   rule.wait = cost > rule.limit and -1 or rule.period - now % rule.period
  end
 elseif rule.id == 3 then -- sliding-window
  if cost > rule.limit then
   rule.wait = -1
  else
   local current, previous = rule.current, rule.previous
   if current > rule.limit then current = rule.limit end
   if previous > rule.limit then previous = rule.limit end
   local space, gone = rule.limit - current - cost, now % rule.period
   if space < 0 then
    rule.wait = 2 * rule.period - gone - share(math.min(rule.limit - cost, current), rule.period, current)
   elseif previous - share(gone, previous, rule.period) > space then
    rule.wait = rule.period - gone - share(space, rule.period, previous)
   end
  end
 elseif rule.id == 4 then -- token-bucket
  if cost > rule.capacity then
   rule.wait = -1
  else
   local part = rule.part + cost * rule.step_part
   local missing = (rule.tat > 0 and rule.tat - now or 0) + cost * rule.step + (part - part % rule.limit) / rule.limit - rule.full
   part = part % rule.limit - rule.full_part
   if missing > 0 or missing == 0 and part > 0 then
    rule.wait = missing + (part > 0 and 1 or 0)
   end
  end
 elseif rule.id == 5 then -- sliding-log
  if rule.used + cost > rule.limit then
   if cost > rule.limit then
    rule.wait = -1
   else
    local time = rule.time
    if (sum - rule.total) % 2^40 > rule.limit - cost then
     local _
     _, time = beyond(rule.first, rule.total, nil, rule.limit - cost)
    end
    if time <= now - rule.period or time > last then time = last end
    rule.wait = time + rule.period - now
   end
  end
 end
end
block_length = ARGV[3] + 0.0
block_until = now + block_length
for _, rule in ipairs(list) do
 if rule.id == 1 then -- fixed-window
  rule.left, rule.reset = rule.limit - rule.count, rule.stop - now
 elseif rule.id == 2 then -- calendar-window
  rule.left, rule.reset = rule.limit - rule.count, rule.count > 0 and rule.period - now % rule.period or 0
 elseif rule.id == 3 then -- sliding-window
  local gone, previous = now % rule.period, rule.previous
  if previous > rule.limit then previous = rule.limit end
  rule.left = rule.limit - rule.current - previous + share(gone, previous, rule.period)
  rule.reset = rule.current > 0 and 2 * rule.period - gone or rule.previous > 0 and rule.period - gone or 0
 elseif rule.id == 4 then -- token-bucket
  rule.left, rule.reset = rule.capacity, 0
  if rule.tat > 0 then
   local used = rule.tat - now
   rule.reset = rule.part > 0 and used + 1 or used
   local dividend, gone = used * rule.limit + rule.part, 0
   if dividend < 2^53 then
    local rest = dividend % rule.period
    gone = (dividend - rest) / rule.period
    if rest > 0 then gone = gone + 1 end
   else
    local function covers(count)
     local part = count * rule.step_part
     local time = count * rule.step + (part - part % rule.limit) / rule.limit
     return time > used or time == used and part % rule.limit >= rule.part
    end
    gone = math.ceil(dividend / rule.period)
    while gone > 0 and covers(gone - 1) do gone = gone - 1 end
    while not covers(gone) do gone = gone + 1 end
   end
   rule.left = rule.capacity - gone
  end
 elseif rule.id == 5 then -- sliding-log
  rule.left, rule.reset = rule.limit - rule.used, rule.used > 0 and last + rule.period - now or 0
 end
end
for _, rule in ipairs(list) do
 if rule.left < 0 then rule.left = 0 end
 if rule.reset < 0 then rule.reset = 0 end
end
if ends and not write then
for _, rule in ipairs(list) do
  if ends[rule.number] then rule.wait, rule.reset = math.min(rule.wait, ends[rule.number] - now), math.min(rule.reset, ends[rule.number] - now) end
end
end
local blocked = block_until > now and block_until - now or 0
if write then
 local life = blocked
 if holds ~= '' and latest - now > life then life = latest - now end
 if others_until - now > life then life = others_until - now end
for _, rule in ipairs(list) do
  if rule.reset > life then life = rule.reset end
end
 if life > 0 then
  local ttl = math.ceil(life / 1000) + 1
  if virtual and ttl < 3600000 then ttl = 3600000 end
  local tail = ''
  if blocked > 0 then tail = struct.pack('<BI8I8', 0, block_length, block_until) end
  if holds ~= '' then
   tail = tail .. struct.pack('<BI8I8I8I8I8', 251, earliest, latest, newest, marks, #holds / hold_size) .. holds
  end
if with_log then
   local oldest = next
   for _, rule in ipairs(list) do
    if rule.id == 5 then -- sliding-log
     if rule.first < oldest then oldest = rule.first end
    end
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
   local start = #heading + 8 * word_count + 1 + 41 - 1 + other_size
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
    for _, rule in ipairs(list) do
     if rule.id == 5 then -- sliding-log
      rule.first = rule.first - oldest
     end
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
    local numbers = {}
    for _, rule in ipairs(list) do
     for _, word in ipairs(word_names[rule.id]) do numbers[#numbers + 1] = rule[word] end
    end
    head = heading .. struct.pack(format, unpack(numbers))
    if names then
     head = string.sub(heading, 1, 3) .. string.char(#list + other_count) .. names .. string.sub(head, #heading + 1)
     for _, record in ipairs(others) do
      local kind, words = record.kind, record.words
      if kind == 5 then -- sliding-log
       words[3], words[4] = record.own_last, words[4] + 2^40
      end
      head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
     end
    end
    head = head .. struct.pack(LOG, 250, next, sum, last, room, base + 12 * room + #tail)
    redis.call('SET', KEYS[1], head .. ring .. tail, 'PX', ttl)
   else
    local head
    local numbers = {}
    for _, rule in ipairs(list) do
     for _, word in ipairs(word_names[rule.id]) do numbers[#numbers + 1] = rule[word] end
    end
    head = heading .. struct.pack(format, unpack(numbers))
    if names then
     head = string.sub(heading, 1, 3) .. string.char(#list + other_count) .. names .. string.sub(head, #heading + 1)
     for _, record in ipairs(others) do
      local kind, words = record.kind, record.words
      if kind == 5 then -- sliding-log
       words[3], words[4] = record.own_last, words[4] + 2^40
      end
      head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
     end
    end
    head = head .. struct.pack(LOG, 250, next, sum, last, room, base + 12 * room + #tail)
    redis.call('SETRANGE', KEYS[1], '0', '')
    redis.call('PEXPIRE', KEYS[1], ttl)
    if logged then
     redis.call('SETRANGE', KEYS[1], base + 12 * ((next - 1) % room), struct.pack('<I7I5', last, sum))
    end
    if tail ~= '' then redis.call('SETRANGE', KEYS[1], base + 12 * room, tail) end
    redis.call('SETRANGE', KEYS[1], '0', head)
   end
end
if not with_log then
   local head
   local numbers = {}
   for _, rule in ipairs(list) do
    for _, word in ipairs(word_names[rule.id]) do numbers[#numbers + 1] = rule[word] end
   end
   head = heading .. struct.pack(format, unpack(numbers))
   if names then
    head = string.sub(heading, 1, 3) .. string.char(#list + other_count) .. names .. string.sub(head, #heading + 1)
    for _, record in ipairs(others) do
     local kind, words = record.kind, record.words
     if kind == 5 then -- sliding-log
      words[3], words[4] = record.own_last, words[4] + 2^40
     end
     head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
    end
   end
   if other_log then
    local start = #head + 41
    head = head .. struct.pack('<BI8I8I8I8I8', 250, other_log.next, other_log.sum, other_log.last, other_log.room,
     start + 12 * other_log.room + #tail)
    if start == other_log.base then
     redis.call('SETRANGE', KEYS[1], '0', '')
     redis.call('PEXPIRE', KEYS[1], ttl)
     if tail ~= '' then redis.call('SETRANGE', KEYS[1], start + 12 * other_log.room, tail) end
     redis.call('SETRANGE', KEYS[1], '0', head)
    else
     head = head .. redis.call('GETRANGE', KEYS[1], other_log.base, other_log.base + 12 * other_log.room - 1)
     redis.call('SET', KEYS[1], head .. tail, 'PX', ttl)
    end
   else
    redis.call('SET', KEYS[1], head .. tail, 'PX', string.format('%d', ttl))
   end
end
 elseif value then
  redis.call('DEL', KEYS[1])
 end
end
local reply = {1, now, write and foreign and 1 or 0, blocked}
for _, rule in ipairs(list) do
 reply[#reply + 1] = rule.wait
 reply[#reply + 1] = rule.left
 reply[#reply + 1] = rule.reset
end
return reply
