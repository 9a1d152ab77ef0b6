-- Where records of an id stand in a table. Included after codec.
-- An id is looked for in all bytes at once, and counts where a record begins.
-- Among records of one size.
local function find(records, id, size)
  local at = string.find(records, id, 1, true)
  while at and at % size ~= 1 do at = string.find(records, id, at + 1, true) end
  return at
end
-- Among holders.
local function holding(holders, id)
  local at, found = 1, string.find(holders, id, 1, true)
  while found and at < found do
    at = at + HOLDER + struct.unpack('<I2', holders, at + 52)
    if at > found then found = string.find(holders, id, at, true) end
  end
  return found
end
