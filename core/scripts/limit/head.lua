-- What a state begins with: the names of its rules, and their words. Included in finish.
local head = heading .. struct.pack('ALL_FORMAT', ALL_WORDS)
if other_count > 0 then
  head = string.sub(heading, 1, 3) .. string.char(ALL_COUNT + other_count) .. string.sub(heading, 5) .. other_names
    .. string.sub(head, #heading + 1) .. other_words
end
