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
local function decide(key)
 local value
 value = redis.call('GETRANGE', key, '0', '1023')
 if #value == 50 and string.sub(value, 1, 26) == ARGV[4] then
  local cost = ARGV[3] + 0.0
  local look = cost <= 0
  if look then cost = -cost end
  local wait, left, reset, bytes, ttl
  do -- rule 1
   local limit_1, period_1, capacity_1 = ARGV[5] + 0.0, ARGV[6] + 0.0, ARGV[7] + 0.0
   local tat_1, part_1, last_1 = struct.unpack('<I8I8I8', value, 26 + 1)
   local used = tat_1 - now
   if used > 0 and last_1 <= now and part_1 < limit_1 and cost <= capacity_1 and tat_1 + part_1 + last_1 < 2^53 then
    local full, full_part, taken, part = capacity_1 * period_1, 0, cost * period_1, part_1
    if limit_1 > 1 then
     local step_part = period_1 % limit_1
     local step, rest = (period_1 - step_part) / limit_1, capacity_1 * step_part
     full_part = rest % limit_1
     full = capacity_1 * step + (rest - full_part) / limit_1
     part = part_1 + cost * step_part
     rest = part % limit_1
     taken, part = cost * step + (part - rest) / limit_1, rest
    end
    local ahead, needed, charged = tat_1 - last_1, 0, not look
    if used + taken > full or used + taken == full and part > full_part then
     needed, charged = used + taken - full + (part > full_part and 1 or 0), false
    end
    if charged then used = used + taken else part = part_1 end
    local missing = used * limit_1 + part
    if (ahead < full or ahead == full and part_1 <= full_part) and missing < 2^53 then
     local rest = missing % period_1
     wait, left, reset = needed, capacity_1 - (missing - rest) / period_1, used
     if rest > 0 then left = left - 1 end
     if part > 0 then reset = reset + 1 end
     if charged then
      bytes, ttl = struct.pack('<I8I8I8', now + used, part, now), math.ceil(reset / 1000) + 1
      if virtual and ttl < 3600000 then ttl = 3600000 end
     end
    end
   end
  end
  if wait then
   if ttl then
    redis.call('SET', key, ARGV[4] .. bytes, 'PX', string.format('%d', ttl))
   elseif bytes then
    redis.call('SET', key, ARGV[4] .. bytes, 'KEEPTTL')
   end
   return struct.pack('<i8i8i8i8i8i8i8', 1, now, 0, 0, wait, left, reset)
  end
 end
 local HOLD = '<c16I8I8I8I8BI4'
 local heading = ARGV[4]
 local limit_1, period_1, capacity_1 = ARGV[5] + 0.0, ARGV[6] + 0.0, ARGV[7] + 0.0
 local tat_1, part_1, last_1 = 0, 0, 0
 local wait_1, left_1, reset_1 = 0, 0, 0
 local step_1, step_part_1, full_1, full_part_1 = period_1, 0, capacity_1 * period_1, 0
 if limit_1 > 1 then
  step_part_1 = period_1 % limit_1
  step_1, full_part_1 = (period_1 - step_part_1) / limit_1, capacity_1 * step_part_1
  full_1 = capacity_1 * step_1 + (full_part_1 - full_part_1 % limit_1) / limit_1
  full_part_1 = full_part_1 % limit_1
 end
 local foreign, dirty, block_length, block_until = false, false, 0, 0
 local holds, hold_size, earliest, latest, newest, marks = '', 69, 0, 0, 0, 0
 local other_count, names, other_size, others_until, others, other_log, ends = 0, nil, 0, 0, nil, nil, nil
 if value == '' then value = nil end
 if value then
  local fits = #value == 50 and string.sub(value, 1, 26) == heading
  if fits then
   tat_1, part_1, last_1 = struct.unpack('<I8I8I8', value, 26 + 1)
   fits = fits and tat_1 + part_1 + last_1 < 2^53
  end
  if not fits then
   local counts, sizes = {3, 2, 3, 3, 4}, {15, 15, 15, 22, 15}
   local is_bucket, is_log = {[4] = true}, {[5] = true}
   local records, sources, layout, position, stage, log, buckets = {}, {}, {}, 5, 0, nil, 0
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
    if stage == 3 and not log and #value == 1024 then value = redis.call('GET', key) end
    if count and position + 8 * count <= #value and stage > before then
     local numbers = {struct.unpack('<' .. string.rep('I8', count), value, position + 1)}
     for n = 1, count do foreign = foreign or numbers[n] >= 2^53 end
     position = position + 1 + 8 * count
     if stage == 1 then
      log = {next = numbers[1], sum = numbers[2], last = numbers[3], room = numbers[4], base = position - 1}
      local after, stop = log.base + 12 * log.room, numbers[5]
      foreign = foreign or log.sum >= 2^40 or after > stop
      foreign = foreign or redis.call('GETRANGE', key, stop - 1, stop - 1) == ''
      if not foreign then
       value = stop > after and redis.call('GETRANGE', key, after, stop - 1) or ''
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
   for _, record in ipairs(records) do
    local kind, words = record.kind, record.words
    if is_log[kind] and not foreign then
     if kind == 5 then -- sliding-log
      record.own_last = log and log.last or 0
      if words[4] >= 2^40 then record.own_last, words[4], record.aside = words[3], words[4] - 2^40, true end
     end
    end
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
   rules[1] = {name = string.sub(heading, 5, 26), kind = 4, limit = limit_1, period = period_1, capacity = capacity_1}
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
    end
   end
   if sources[1] then tat_1, part_1, last_1 = unpack(sources[1].words) else tat_1, part_1, last_1 = 0, 0, 0 end
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
    if is_log[record.kind] then other_log = log end
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
    if kept and not kept.own and (kept.limit ~= limit_1 or kept.period ~= period_1) then
     local function refilled(filled, part)
      local taken = (filled - last_1) * kept.limit + part
      local wanted = taken * period_1
      if taken < 2^53 and wanted < 2^53 then
       local rest = wanted % kept.period
       wanted = (wanted - rest) / kept.period + (rest > 0 and 1 or 0)
       rest = wanted % limit_1
       return last_1 + (wanted - rest) / limit_1, rest
      end
      local ahead = filled - last_1 + part / kept.limit
      ahead = ahead * kept.limit / kept.period * period_1 / limit_1
      return last_1 + math.min(math.ceil(ahead), full_1 + 1), 0
     end
     if tat_1 >= last_1 then tat_1, part_1 = refilled(tat_1, part_1) else part_1 = 0 end
     for hold = 1, #holds, hold_size do
      local filled, part = struct.unpack('<I8I8', holds, hold + 53)
      if filled >= last_1 then
       holds = string.sub(holds, 1, hold + 53 - 1) .. struct.pack('<I8I8', refilled(filled, part))
        .. string.sub(holds, hold + 53 + 16)
      end
     end
    end
   end
   if block_until > now + block_length then
    block_until, dirty = now + block_length, true
   end
  end
 end
 do -- rule 1
  local back = last_1 > now
  if back then last_1 = now end
  if part_1 >= limit_1 then part_1 = 0 end
  if tat_1 - last_1 > full_1 or tat_1 - last_1 == full_1 and part_1 > full_part_1 then
   tat_1, part_1 = last_1 + full_1, full_part_1
  end
  if tat_1 < now or tat_1 == now and part_1 == 0 then
   tat_1, part_1, last_1 = 0, 0, 0
  elseif back then
   dirty = true
  end
 end
 if holds ~= '' then
  local over = 0
  if tat_1 == 0 and bit.band(marks, 1) > 0 then over = over + 1 end
  if earliest <= now or newest > now or over > 0 then
   local remaining, every = {}, 2 ^ (1 + other_count) - 1
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
       local given = math.min(amount, capacity_1)
       local rest = given * step_part_1
       local time = given * step_1 + (rest - rest % limit_1) / limit_1
       rest = rest % limit_1
       if hold then
        local open, part = struct.unpack('<I8I8', holds, hold + 53)
        if open < now or part >= limit_1 then part = 0 end
        open = open < now and 0 or open - now
        if time > open or time == open and rest > part then time, rest = open, part end
       end
       tat_1, part_1 = (tat_1 > 0 and tat_1 or now) - time, part_1 - rest
       if part_1 < 0 then tat_1, part_1 = tat_1 - 1, part_1 + limit_1 end
       if tat_1 < now or tat_1 == now and part_1 == 0 then tat_1, part_1, last_1 = 0, 0, now end
      end
      counted = counted - bit.band(counted, 1)
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
   if tat_1 == 0 and bit.band(marks, 1) > 0 then over = over + 1 end
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
  if cost > capacity_1 then
   wait_1 = -1
  else
   local part = part_1 + cost * step_part_1
   local missing = (tat_1 > 0 and tat_1 - now or 0) + cost * step_1 + (part - part % limit_1) / limit_1 - full_1
   part = part % limit_1 - full_part_1
   if missing > 0 or missing == 0 and part > 0 then
    wait_1 = missing + (part > 0 and 1 or 0)
   end
  end
 end
 local admitted = block_until <= now
 if wait_1 ~= 0 then admitted = false end
 local charged = admitted and not look
 local write = charged or dirty and not look
 if charged then
  do -- rule 1
   local taken_1 = cost
   if taken_1 > capacity_1 then taken_1 = capacity_1 end
   part_1 = part_1 + taken_1 * step_part_1
   tat_1 = (tat_1 > 0 and tat_1 or now) + taken_1 * step_1 + (part_1 - part_1 % limit_1) / limit_1
   part_1, last_1 = part_1 % limit_1, now
   if tat_1 - now > full_1 or tat_1 - now == full_1 and part_1 > full_part_1 then
    tat_1, part_1 = now + full_1, full_part_1
   end
  end
 end
 do -- rule 1
  left_1, reset_1 = capacity_1, 0
  if tat_1 > 0 then
   local used = tat_1 - now
   reset_1 = part_1 > 0 and used + 1 or used
   local dividend, gone = used * limit_1 + part_1, 0
   if dividend < 2^53 then
    local rest = dividend % period_1
    gone = (dividend - rest) / period_1
    if rest > 0 then gone = gone + 1 end
   else
    local function covers(count)
     local part = count * step_part_1
     local time = count * step_1 + (part - part % limit_1) / limit_1
     return time > used or time == used and part % limit_1 >= part_1
    end
    gone = math.ceil(dividend / period_1)
    while gone > 0 and covers(gone - 1) do gone = gone - 1 end
    while not covers(gone) do gone = gone + 1 end
   end
   left_1 = capacity_1 - gone
  end
 end
 if left_1 < 0 then left_1 = 0 end
 if reset_1 < 0 then reset_1 = 0 end
 if ends and not write then
  if ends[1] then wait_1, reset_1 = math.min(wait_1, ends[1] - now), math.min(reset_1, ends[1] - now) end
 end
 local blocked = block_until > now and block_until - now or 0
 if write then
  local life = blocked
  if holds ~= '' and latest - now > life then life = latest - now end
  if others_until - now > life then life = others_until - now end
  if reset_1 > life then life = reset_1 end
  if life > 0 then
   local ttl = math.ceil(life / 1000) + 1
   if virtual and ttl < 3600000 then ttl = 3600000 end
   local tail = ''
   if blocked > 0 then tail = struct.pack('<BI8I8', 0, block_length, block_until) end
   if holds ~= '' then
    tail = tail .. struct.pack('<BI8I8I8I8I8', 251, earliest, latest, newest, marks, #holds / hold_size) .. holds
   end
   local head
   head = heading .. struct.pack('<I8I8I8', tat_1, part_1, last_1)
   if names then
    head = string.sub(heading, 1, 3) .. string.char(1 + other_count) .. names .. string.sub(head, #heading + 1)
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
     redis.call('SETRANGE', key, '0', '')
     redis.call('PEXPIRE', key, ttl)
     if tail ~= '' then redis.call('SETRANGE', key, start + 12 * other_log.room, tail) end
     redis.call('SETRANGE', key, '0', head)
    else
     head = head .. redis.call('GETRANGE', key, other_log.base, other_log.base + 12 * other_log.room - 1)
     redis.call('SET', key, head .. tail, 'PX', ttl)
    end
   else
    redis.call('SET', key, head .. tail, 'PX', string.format('%d', ttl))
   end
  elseif value then
   redis.call('DEL', key)
  end
 end
 return struct.pack('<i8i8i8i8i8i8i8', 1, now, write and foreign and 1 or 0, blocked, wait_1, left_1, reset_1)
end
local replies = {}
for n = 1, #KEYS do
 local done, reply = pcall(decide, KEYS[n])
 replies[n] = done and reply
end
return replies
