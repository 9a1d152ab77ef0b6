-- Fails if a newer version wrote a value, before anything is written. Included where values are read; its twin: format.rs.
-- Invariant: no value of a newer version is changed.
local function check_format(bytes)
  local format, rest = string.byte(bytes, 7, 8)
  if rest and format + rest == 255 and format > FORMAT and string.sub(bytes, 1, 6) == '\255quota' then
    error('NEWERVERSION ' .. format, 0)
  end
end
