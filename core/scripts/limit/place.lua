-- The general way to read a state: the policy changed, there is a block or a hold, or the value is not ours.
-- Every rule takes over what its name says; else what counts as it does (the same algorithm and period, of buckets the same
-- rate): what is in its place, else the first; else the first of the same algorithm. Included in load: takes `value`, sets
-- the rest.
local counts, sizes = {ALL_WORD_COUNTS}, {ALL_NAME_SIZES}
local records, sources, layout, position, stage, log, buckets = {}, {}, {}, 5, 0, nil, 0
--[log]
value = redis.call('GETRANGE', KEYS[1], '0', '1023')
next, sum, last, room, base = 0, 0, 0, 0, 0
--[end]
local total = string.byte(value, 4) or 0
foreign = string.sub(value, 1, 3) ~= 'QL\2' or total == 0 or total > 20
for index = 1, foreign and 0 or total do
  local kind = string.byte(value, position)
  local size = sizes[kind]
  foreign = not size or position + size > #value + 1
  if foreign then break end
  local record = {kind = kind, index = index, name = string.sub(value, position, position + size - 1)}
  local limit, period, capacity = struct.unpack(kind == 4 and '<I7I7I7' or '<I7I7', record.name, 2)
  foreign = limit == 0 or limit > MOST or period == 0 or period > LONGEST or capacity == 0 or capacity > MOST
  if foreign then break end
  if kind == 4 then
    local divisor, rest = limit, period
    while rest > 0 do divisor, rest = rest, divisor % rest end
    limit, period = limit / divisor, period / divisor
    record.slot, buckets = HOLD_HEAD + 16 * buckets, buckets + 1
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
  for n = 1, count do foreign = foreign or record.words[n] >= EXACT end
end
hold_size = HOLD_HEAD + 16 * buckets
local stages, lengths = {[250] = 1, [0] = 2, [251] = 3}, {[250] = 5, [0] = 2, [251] = 5}
while position <= #value and not foreign do
  local id, before = string.byte(value, position), stage
  local count = lengths[id]
  stage = stages[id] or 0
  --[log]
  -- Holds of a state that had no log yet may reach beyond what was read.
  if stage == 3 and not log then value = redis.call('GET', KEYS[1]) end
  --[end]
  if count and position + 8 * count <= #value and stage > before then
    local record = {struct.unpack('<' .. string.rep('I8', count), value, position + 1)}
    for n = 1, count do foreign = foreign or record[n] >= EXACT end
    position = position + 1 + 8 * count
    if stage == 1 then
      record.base = position - 1
      log = record
      local after, stop, cut = log.base + 12 * record[4], record[5], #value ~= 1024
      foreign = foreign or record[2] >= 1099511627776 or after > stop or cut and stop > #value
      if not foreign then
        --[log]
        value = stop > after and redis.call('GETRANGE', KEYS[1], after, stop - 1) or ''
        --[end]
        --[plain]
        value = string.sub(value, after + 1, stop)
        --[end]
        position, foreign = 1, #value ~= stop - after
      end
    elseif stage == 2 then
      block_length, block_until = record[1], record[2]
      foreign = foreign or block_length > LONGEST
    else
      earliest, latest, newest, marks, holds = record[1], record[2], record[3], record[4], string.sub(value, position)
      foreign = foreign or #holds == 0 or #holds ~= record[5] * hold_size or marks > 1048575
      position = #value + 1
    end
  else
    foreign = true
  end
end
local longest
--[log]
-- A rule's place in the log has to be there; a rule without one gets that of the one with the longest memory.
for _, record in ipairs(records) do
  if record.kind == 5 and not foreign then
    local first, used, _, sum_there = unpack(record.words)
    foreign = not log or first > log[1] or log[1] - first > log[4] or used > LOG_MOST or sum_there >= WRAP
    if not longest or first < longest.words[1] then longest = record end
  end
end
if log and not foreign then next, sum, last, room, base = log[1], log[2], log[3], log[4], log.base end
--[end]
if foreign then
  records, block_length, block_until, dirty = {}, 0, 0, true
  holds, earliest, latest, newest, marks = '', 0, 0, 0, 0
end
-- When each has nothing to say any more, which a TTL may have told already. A log's cannot be kept without its rule.
for _, record in ipairs(records) do
  local kind, period, words, stop = record.kind, record.period, record.words, 0
  if kind ~= 5 then
    local charged = kind == 2 and 2 or kind == 3 and 1 or 3
    local back, last_there = words[charged] > now, math.min(words[charged], now)
    local window = last_there - last_there % period
    words[charged] = last_there
    if kind == 1 then
      words[2] = math.min(words[2], last_there + period)
      stop = words[1] > 0 and words[2] or 0
    elseif kind == 2 then
      stop = words[1] > 0 and window + period or 0
    elseif kind == 3 then
      stop = words[2] > 0 and window + 2 * period or words[3] > 0 and window + period or 0
    else
      local full = last_there + math.min(math.ceil(record.capacity * period / record.limit), LONGEST) + 1
      if words[1] > full then words[1], words[2] = full, 0 end
      stop = words[1] > 0 and words[1] + (words[2] > 0 and 1 or 0) or 0
    end
    dirty = dirty or back and stop > now
  end
  record.stop = stop
end
local rules = {}
--[each]
rules[N_1] = {name = NAME_1, kind = ID_1, limit = limit_1, period = period_1}
--[end]
for pass = 1, 4 do
  for r, rule in ipairs(rules) do
    for s, record in ipairs(records) do
      if sources[r] then break end
      local own = record.period == rule.period and (rule.kind ~= 4 or record.limit == rule.limit)
      local fits_here = pass == 1 and record.name == rule.name or own and (pass == 2 and s == r or pass == 3)
        or pass == 4 and rule.kind ~= 5 and record.stop > now
      if record.kind == rule.kind and not record.taken and fits_here then
        sources[r], record.taken, record.own = record, true, own
        if not own then
          -- Written down, it lives as long as the rule of now has it; until then it may be gone when it would have been.
          ends, dirty = ends or {}, true
          ends[r] = record.stop
        end
      end
    end
    --[log]
    if pass == 4 and rule.kind == 5 and not sources[r] then
      sources[r] = not foreign and longest or {words = {next, 0, 0, 0}, own = true}
    end
    --[end]
  end
end
--[straight]
--[each]
if sources[N_1] then words_1 = unpack(sources[N_1].words) else words_1 = zeros_1 end
--[end]
--[end]
--[looped]
for r, rule in ipairs(list) do
  for n, word in ipairs(word_names[rule.id]) do rule[word] = sources[r] and sources[r].words[n] or 0 end
end
--[end]
for r in ipairs(rules) do
  layout[r] = sources[r] and sources[r].index and sources[r] or false
end
-- Rules of another policy of this name, as there are while a new one is deployed: kept for it until they end.
for _, record in ipairs(records) do
  if not record.own and record.stop > now and other_count < 10 then
    other_count, others_until = other_count + 1, math.max(others_until, record.stop)
    other_names = other_names .. record.name
    other_words = other_words .. struct.pack('<' .. string.rep('I8', counts[record.kind]), unpack(record.words))
    layout[#layout + 1] = record
  end
end
local moved, old_size, nothing = #layout ~= #records, hold_size, string.rep('\0', 16)
buckets = 0
for n, record in ipairs(layout) do
  moved = moved or not record or record.index ~= n
  if (rules[n] or record).kind == 4 then buckets = buckets + 1 end
end
hold_size = HOLD_HEAD + 16 * buckets
if moved and holds ~= '' then
  -- Each rule keeps its share of a hold.
  local arranged = {}
  marks = 0
  for hold = 1, #holds, old_size do
    local old, new, shares = struct.unpack('<I4', holds, hold + 49), 0, ''
    for n, record in ipairs(layout) do
      if record and bit.band(old, 2 ^ (record.index - 1)) > 0 then new = new + 2 ^ (n - 1) end
      if (rules[n] or record).kind == 4 then
        shares = shares .. (record and string.sub(holds, hold + record.slot, hold + record.slot + 15) or nothing)
      end
    end
    marks = bit.bor(marks, new)
    arranged[#arranged + 1] = string.sub(holds, hold, hold + 48) .. struct.pack('<I4', new) .. shares
  end
  holds = table.concat(arranged)
end
