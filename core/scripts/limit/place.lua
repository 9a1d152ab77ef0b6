-- The general way to read a state: the policy changed, there is a block, or the value is not ours.
-- Every record goes to the rule in its place, else to the first rule without one of the same algorithm and period, else
-- of the same algorithm. Included in load: takes `value` and `rules`, fills `found`, sets `foreign` and the block.
local counts, spare, placed, from, index = {ALL_WORD_COUNTS}, {}, {}, 4, 0
foreign = string.sub(value, 1, 3) ~= 'QL\1'
while from <= #value and not foreign do
  local kind = string.byte(value, from)
  local last = kind == 0 and from + 17 == #value + 1
  local count = last and 1 or counts[kind]
  index = index + 1
  if count and from + 9 + 8 * count <= #value + 1 then
    local record = {struct.unpack('<I8' .. string.rep('I8', count), value, from + 1)}
    for n = 1, count + 1 do foreign = foreign or record[n] >= EXACT end
    record[count + 2], record.kind, record.index = nil, kind, index
    if last then block_length, block_until = record[1], record[2] else spare[#spare + 1] = record end
    from = from + 9 + 8 * count
  else
    foreign = true
  end
end
if foreign then spare, block_length, block_until = {}, 0, 0 end
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
