-- What Dragonfly's Lua 5.4 has and Lua 5.4 itself has not: `struct` and `unpack`, and names that must exist.
-- `struct` gives floats, as the C library does that all servers have: its numbers are `lua_Number`.
local pack, unpacked, sub = string.pack, string.unpack, string.sub

-- A number as `struct` stores it: cut off, and modulo 2^64.
local function stored(n)
  if math.type(n) == 'integer' then return n end
  local whole = n < 0 and math.ceil(n) or math.floor(n)
  if math.type(whole) == 'integer' then return whole end
  return math.tointeger(n - 2^64) or 0
end

local function float(n, signed)
  if n < 0 and not signed then return n + 2^64 end
  return n + 0.0
end

local function each_option(format)
  return string.gmatch(format, '([<BbIic])(%d*)')
end

struct = {
  pack = function(format, ...)
    local parts, n, values = {}, 0, {...}
    for option, size in each_option(format) do
      if option == 'c' then
        n = n + 1
        local text = values[n]
        if size == '0' then size = #text end
        if #text < tonumber(size) then error('string too short') end
        parts[#parts + 1] = sub(text, 1, tonumber(size))
      elseif option ~= '<' then
        n = n + 1
        local width = option == 'B' and 1 or tonumber(size) or 4
        parts[#parts + 1] = sub(pack('<i8', stored(values[n])), 1, width)
      end
    end
    return table.concat(parts)
  end,
  unpack = function(format, data, at)
    local values, n = {}, 0
    at = at and math.tointeger(at) or 1
    for option, size in each_option(format) do
      if option ~= '<' then
        local width = option == 'B' and 1 or tonumber(size) or 4
        if option == 'c' and width == 0 then
          width = math.tointeger(values[n])
          n = n - 1
        end
        if at < 1 or at + width - 1 > #data then error('data string too short') end
        n = n + 1
        if option == 'c' then
          values[n] = sub(data, at, at + width - 1)
        else
          local signed = option == 'i' or option == 'b'
          values[n] = float(unpacked((signed and '<i' or '<I') .. width, data, at), signed)
        end
        at = at + width
      end
    end
    values[n + 1] = at
    return table.unpack(values, 1, n + 1)
  end,
}

-- 32 bits, and integers, as Dragonfly's.
local function signed32(n)
  n = n & 0xffffffff
  return n >= 0x80000000 and n - 0x100000000 or n
end
local function whole(n) return math.tointeger(math.floor(n + 0.5)) end
bit = {
  band = function(a, b) return signed32(whole(a) & whole(b)) end,
  bor = function(a, b) return signed32(whole(a) | whole(b)) end,
}
unpack = table.unpack

-- What Dragonfly opens is base, table, string, math and debug, and no more.
coroutine, io, os, package, require, utf8, debug, dofile, loadfile, print, python = nil
local allowed = {KEYS = true, ARGV = true}
setmetatable(_G, {
  __newindex = function(all, name, value)
    if not allowed[name] then error('Script attempted to create global variable ' .. name, 2) end
    rawset(all, name, value)
  end,
  __index = function(_, name)
    -- What calls scripts here looks for it.
    if name == 'debug' then return nil end
    error('Script attempted to access nonexistent global variable ' .. name, 2)
  end,
})
