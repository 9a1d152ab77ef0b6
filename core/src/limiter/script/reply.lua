-- Makes the reply of what finish says, to be added to.
--[straight]
local reply = {1, now, write and foreign and 1 or 0, blocked, ALL_ANSWERS}
--[end]
--[looped]
local reply = {1, now, write and foreign and 1 or 0, blocked}
for _, rule in ipairs(list) do
  reply[#reply + 1] = rule.wait
  reply[#reply + 1] = rule.left
  reply[#reply + 1] = rule.reset
end
--[end]
