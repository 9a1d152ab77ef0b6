-- A take that is remembered answers with its members: those of the first answer may be others.
for _, s in ipairs(sales) do reply[#reply + 1] = s.member end
if outcome == 0 then remember(reply) end
