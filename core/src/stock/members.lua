-- A take that is remembered answers with its members, since those of the first answer may be others, and with what tells
-- which sales it is about: ARGV, last but one.
for _, s in ipairs(sales) do reply[#reply + 1] = s.member end
reply[#reply + 1] = ARGV[#ARGV - 1]
if outcome == 0 then remember(reply) end
