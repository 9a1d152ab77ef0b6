-- Answers as finish says. Numbers in one text cost a server less than a list of them.
--[straight]
return struct.pack(ALL_ANSWER_FORMAT, 1, now, write and foreign and 1 or 0, blocked, ALL_ANSWERS)
--[end]
--[looped]
--@ reply
return reply
--[end]
