-- The general way to read a state: the policy changed, there is a block or a hold, or the value is not ours.
-- Every record goes to the rule in its place, else to the first rule without one of the same algorithm and period, else
-- of the same algorithm. Included in load: takes `value` and `rules`, fills `found`, sets the rest.
local counts, spare, placed, position, index, stage = {ALL_WORD_COUNTS, [0] = 1, [251] = 3}, {}, {}, 4, 0, 0
foreign = string.sub(value, 1, 3) ~= 'QL\1'
while position <= #value and not foreign do
  local kind = string.byte(value, position)
  local count, before = counts[kind], stage
  stage = kind == 0 and 1 or kind == 251 and 2 or 0
  if count and position + 8 + 8 * count <= #value and (stage > before or stage + before == 0) then
    local record = {struct.unpack('<I8' .. string.rep('I8', count), value, position + 1)}
    for n = 1, count + 1 do foreign = foreign or record[n] >= EXACT end
    position = position + 9 + 8 * count
    if stage == 0 then
      index = index + 1
      record[count + 2], record.kind, record.index = nil, kind, index
      spare[#spare + 1] = record
    elseif stage == 1 then
      block_length, block_until = record[1], record[2]
    else
      earliest, latest, newest, holds = record[1], record[2], record[3], string.sub(value, position)
      foreign = foreign or #holds == 0 or #holds ~= record[4] * HOLD_SIZE
      position = #value + 1
    end
  else
    foreign = true
  end
end
if foreign then
  spare, block_length, block_until = {}, 0, 0
  holds, earliest, latest, newest = '', 0, 0, 0
end
for pass = 1, 3 do
  for r, rule in ipairs(rules) do
    for s, record in ipairs(spare) do
      local fits = record.kind == rule[1] and (pass == 3 or record[1] == rule[2]) and (pass > 1 or record.index == r)
      if fits and not placed[r] then
        found[r], placed[r] = {unpack(record, 2)}, true
        table.remove(spare, s)
        break
      end
    end
  end
end
