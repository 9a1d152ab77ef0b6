-- What is to be written at the end, by command. See write.lua.
local dels, expiries, sets, ranges = {}, {}, {}, {}
