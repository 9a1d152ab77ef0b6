-- Reads the tables of all keys, without the holder that leaves: '' for none. Included after codec.
-- Invariant: each is read before any is written.
local function load_all(leaving)
  local tables = {}
  for n = 1, #KEYS do
    local value = redis.call('GET', KEYS[n])
    local t = value and parse(KEYS[n], value, leaving)
    if not t then
      t = parse(KEYS[n], NONE, leaving)
      t.foreign = value and true
    end
    tables[n] = t
  end
  return tables
end
