-- What a state begins with: the names of its rules, and their words. Included in finish.
local head
--[straight]
head = heading .. struct.pack(ALL_FORMAT, ALL_WORDS)
--[end]
--[looped]
local numbers = {}
for _, rule in ipairs(list) do
  for _, word in ipairs(word_names[rule.id]) do numbers[#numbers + 1] = rule[word] end
end
head = heading .. struct.pack(format, unpack(numbers))
--[end]
if names then
  head = string.sub(heading, 1, 3) .. string.char(ALL_COUNT + other_count) .. names .. string.sub(head, #heading + 1)
  for _, record in ipairs(others) do
    local kind, words = record.kind, record.words
    --* aside
    head = head .. struct.pack('<' .. string.rep('I8', #words), unpack(words))
  end
end
