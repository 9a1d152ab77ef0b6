-- Fails if a newer version wrote a value, before anything is written. Included where values are read; its twin: format.rs.
-- Invariant: no value of a newer version is changed.
local function check_format(bytes)
  local number, rest = string.byte(bytes, 7, 8)
  if rest and number + rest == 255 and number > FORMAT and string.sub(bytes, 1, 6) == '\255quota' then
    error('NEWERVERSION ' .. number, 0)
  end
end
