-- The general way to read a state: the policy changed, there is a block or a hold, or the value is not ours.
-- Every record goes to the rule in its place, else to the first rule without one of the same algorithm and period, else
-- of the same algorithm. Included in load: takes `value` and `rules`, fills `found`, sets the rest.
local counts = {ALL_WORD_COUNTS, [0] = 1, [250] = 4, [251] = 4}
local stages = {[250] = 1, [0] = 2, [251] = 3}
local records, spare, sources, position, index, stage, log = {}, {}, {}, 4, 0, 0, nil
--[log]
value = redis.call('GETRANGE', KEYS[1], '0', '1023')
--[end]
foreign = string.sub(value, 1, 3) ~= 'QL\1'
while position <= #value and not foreign do
  local kind = string.byte(value, position)
  local count, before = counts[kind], stage
  stage = stages[kind] or 0
  --[log]
  -- Holds of a state that had no log yet may reach beyond what was read.
  if stage == 3 and not log then value = redis.call('GET', KEYS[1]) end
  --[end]
  if count and position + 8 + 8 * count <= #value and (stage > before or stage + before == 0) then
    local record = {struct.unpack('<I8' .. string.rep('I8', count), value, position + 1)}
    for n = 1, count + 1 do foreign = foreign or record[n] >= EXACT end
    position = position + 9 + 8 * count
    if stage == 0 then
      index = index + 1
      record[count + 2], record.kind, record.index = nil, kind, index
      records[index], spare[index] = record, record
    elseif stage == 1 then
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
    else
      earliest, latest, newest, marks, holds = record[1], record[2], record[3], record[4], string.sub(value, position)
      foreign = foreign or #holds == 0 or #holds ~= record[5] * HOLD_SIZE or marks > 65535
      position = #value + 1
    end
  else
    foreign = true
  end
end
--[log]
-- A rule's place in the log has to be there; a rule without one gets that of the one with the longest memory.
local longest
for _, record in ipairs(spare) do
  if record.kind == 5 and not foreign then
    local first, used, total = record[2], record[3], record[5]
    foreign = not log or first > log[1] or log[1] - first > log[4] or used > LOG_MOST or total >= WRAP
    if not longest or record[2] < longest[2] then longest = record end
  end
end
next, sum, last, room, base = 0, 0, 0, 0, 0
if log and not foreign then next, sum, last, room, base = log[1], log[2], log[3], log[4], log.base end
--[end]
if foreign then
  records, spare, block_length, block_until = {}, {}, 0, 0
  holds, earliest, latest, newest, marks = '', 0, 0, 0, 0
end
for pass = 1, 3 do
  for r, rule in ipairs(rules) do
    for s, record in ipairs(spare) do
      local same = record[1] == rule[2] or pass == 3 and rule[1] ~= 5
      if record.kind == rule[1] and same and (pass > 1 or record.index == r) and not sources[r] then
        found[r], sources[r] = {unpack(record, 2)}, record.index
        table.insert(found[r], record[1])
        record.own = record[1] == rule[2]
        table.remove(spare, s)
        break
      end
    end
    --[log]
    if pass == 3 and rule[1] == 5 and not sources[r] then
      found[r] = {next, 0, 0, 0}
      if longest and not foreign then
        found[r], sources[r] = {unpack(longest, 2)}, longest.index
      end
      found[r][5] = rule[2]
    end
    --[end]
  end
end
-- Rules of another policy of this name, as there are while a new one is deployed: kept for it until they end.
local kept_for_others = 0
for _, record in ipairs(records) do
  local kind, length = record.kind, record[1]
  local stop = kind == 1 and record[3] or kind == 2 and record[3] + length or kind == 3 and record[2] + 2 * length
    or kind == 4 and record[2] or 0
  if not record.own and stop > now and kept_for_others < 10 then
    kept_for_others, others_until = kept_for_others + 1, math.max(others_until, stop)
    others = others .. struct.pack('<BI8' .. string.rep('I8', counts[kind]), kind, unpack(record))
  end
end
local remapped = false
for r = 1, math.max(#rules, index) do remapped = remapped or sources[r] ~= r end
if remapped and holds ~= '' then
  -- Other rules, other bits.
  local moved = {}
  for at_hold = 1, #holds, HOLD_SIZE do
    local old, new = struct.unpack('<I2', holds, at_hold + HOLD_SIZE - 2), 0
    for r = 1, #rules do
      if sources[r] and bit.band(old, 2 ^ (sources[r] - 1)) > 0 then new = new + 2 ^ (r - 1) end
    end
    moved[#moved + 1] = string.sub(holds, at_hold, at_hold + HOLD_SIZE - 3) .. struct.pack('<I2', new)
  end
  holds, marks = table.concat(moved), 2 ^ #rules - 1
end
