-- What a state begins with: the names of its rules, and their words. Included in finish.
local head
--[straight]
head = heading .. struct.pack(ALL_FORMAT, ALL_WORDS)
--[end]
--[looped]
local words = {}
for _, rule in ipairs(list) do
  for _, word in ipairs(word_names[rule.id]) do words[#words + 1] = rule[word] end
end
head = heading .. struct.pack(format, unpack(words))
--[end]
if other_count > 0 then
  head = string.sub(heading, 1, 3) .. string.char(ALL_COUNT + other_count) .. string.sub(heading, 5) .. other_names
    .. string.sub(head, #heading + 1) .. other_words
end
