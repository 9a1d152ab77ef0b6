-- Reads all that a value says: of each rule a record, then the log, the block, the holds. Included in migrate.
-- A record: kind (the algorithm's id), index, name, limit, period, capacity, words; `whole`, its period as it was given; of a
-- bucket the slot of its share in holds; with a log the time of its last own charge; `given`, whether a rule of another
-- policy began with it: its id is larger by GIVEN then.
--[log]
value = redis.call('GETRANGE', KEY, '0', PREFIX_END_TEXT)
next, sum, last, room, base = 0, 0, 0, 0, 0
--[end]
local total = string.byte(value, 4) or 0
foreign = string.sub(value, 1, 3) ~= 'QL\2'
if foreign then
  --@ format
  check_format(value)
end
foreign = foreign or total == 0 or total > MOST_RECORDS
for index = 1, foreign and 0 or total do
  local id = string.byte(value, position) or 0
  local kind, given = id % GIVEN, id >= GIVEN
  local size = sizes[kind]
  foreign = not size or given and is_log[kind] or position + size > #value + 1
  if foreign then break end
  local record = {kind = kind, index = index, given = given}
  record.name = string.char(kind) .. string.sub(value, position + 1, position + size - 1)
  local limit, period, capacity = struct.unpack(is_bucket[kind] and '<I7I7I7' or '<I7I7', record.name, 2)
  record.whole = period
  foreign = limit == 0 or limit > MOST or period == 0 or period > LONGEST or capacity == 0 or capacity > MOST
  if foreign then break end
  if is_bucket[kind] then
    local divisor, rest = limit, period
    while rest > 0 do divisor, rest = rest, divisor % rest end
    limit, period = limit / divisor, period / divisor
    record.slot, buckets = HOLD_HEAD + FILLED_SIZE * buckets, buckets + 1
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
hold_size = HOLD_HEAD + FILLED_SIZE * buckets
local stages, lengths = {[LOG_RECORD] = 1, [BLOCK_RECORD] = 2, [HOLDS_RECORD] = 3}, {5, 2, 5}
while position <= #value and not foreign do
  local before = stage
  stage = stages[string.byte(value, position)] or 0
  local count = lengths[stage]
  -- Holds of a state without a log may reach beyond what was read.
  if stage == 3 and not log and #value == PREFIX then value = redis.call('GET', KEY) end
  if count and position + 8 * count <= #value and stage > before then
    local numbers = {struct.unpack('<' .. string.rep('I8', count), value, position + 1)}
    for n = 1, count do foreign = foreign or numbers[n] >= EXACT end
    position = position + 1 + 8 * count
    if stage == 1 then
      log = {next = numbers[1], sum = numbers[2], last = numbers[3], room = numbers[4], base = position - 1}
      local after, stop = log.base + ENTRY * log.room, numbers[5]
      foreign = foreign or log.sum >= WRAP or after > stop
      --[log]
      foreign = foreign or #value ~= PREFIX and stop > #value
      --[end]
      --[plain]
      -- What another policy keeps is carried whole, so its last byte has to be there.
      foreign = foreign or redis.call('GETRANGE', KEY, stop - 1, stop - 1) == ''
      --[end]
      if not foreign then
        value = stop > after and redis.call('GETRANGE', KEY, after, stop - 1) or ''
        position, foreign = 1, #value ~= stop - after
      end
    elseif stage == 2 then
      block_length, block_until = numbers[1], numbers[2]
      foreign = foreign or block_length > LONGEST
    else
      earliest, latest, newest, marks, holds = numbers[1], numbers[2], numbers[3], numbers[4], string.sub(value, position)
      foreign = foreign or #holds == 0 or #holds ~= numbers[5] * hold_size or marks > EVERY_MARK
      position = #value + 1
    end
  else
    foreign = true
  end
end
--[log]
if log and not foreign then next, sum, last, room, base = log.next, log.sum, log.last, log.room, log.base end
--[end]
-- The place in the log of a rule that has one has to be there.
for _, record in ipairs(records) do
  local kind, words = record.kind, record.words
  if is_log[kind] and not foreign then
    --* restore
    --[log]
    fits = log
    --* fits
    if fits then
      --* first
    end
    foreign = not fits
    --[end]
  end
end
--[log]
if foreign then next, sum, last, room, base = 0, 0, 0, 0, 0 end
--[end]
