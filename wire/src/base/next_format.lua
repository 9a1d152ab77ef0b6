-- For the test of upgrades: a build with `--cfg quotalock_next_format` stores values as a next version could, behind eight bytes
-- that say so (see format.rs). Included after the clock.
-- Invariant: a value of the format before is read as it is, and becomes one of this format when it is written.
local MARK, real = '\255quota\2\253', redis
local function without_mark(value)
  if type(value) ~= 'string' or string.sub(value, 1, 8) ~= MARK then return value end
  return string.sub(value, 9)
end
local function with_mark(value)
  return type(value) == 'string' and string.find(value, '^Q%u[\1\2]') and MARK .. value or value
end
local function is_next(key) return real.pcall('GETRANGE', key, 0, 7) == MARK end
local function shifted(place) return place < 0 and place or place + 8 end
-- The value at a key becomes one of this format, if it is of the format before.
local function upgrade(how, key)
  local value = real.pcall('GET', key)
  local marked = with_mark(value)
  return marked == value or how('SET', key, marked, 'KEEPTTL')
end
local function through(how)
  return function(command, key, ...)
    local rest = {...}
    if command == 'GET' or command == 'HGET' and rest[1] == '' then
      return without_mark(how(command, key, ...))
    elseif command == 'HMGET' and rest[1] == '' then
      local found = how(command, key, ...)
      found[1] = without_mark(found[1])
      return found
    elseif command == 'GETRANGE' and is_next(key) then
      return how(command, key, shifted(rest[1] + 0), shifted(rest[2] + 0))
    elseif command == 'STRLEN' and is_next(key) then
      return how(command, key) - 8
    elseif command == 'SET' then
      return how(command, key, with_mark(rest[1]), unpack(rest, 2))
    elseif command == 'SETRANGE' and rest[2] ~= '' then
      upgrade(how, key)
      if is_next(key) then return how(command, key, rest[1] + 8, rest[2]) end
    elseif command == 'HSET' and rest[1] == '' then
      return how(command, key, '', with_mark(rest[2]), unpack(rest, 3))
    end
    return how(command, key, ...)
  end
end
local redis = setmetatable({call = through(real.call), pcall = through(real.pcall)}, {__index = real})
