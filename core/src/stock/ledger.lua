-- Reads the ledger, as many entries as their prizes allow; never writes.
-- KEYS three.  ARGV[3] the entry after which to begin, or ''.  ARGV[4] how many at most.
-- Reply: {1, now, then of each entry: its id, numbers and what was done, packed prizes or ''}.
local function is_ours(fields)
  local kind = fields[1] == 'e' and #fields[2] > 72 and string.sub(fields[2], 49, 49)
  return kind and string.find('orhcuxel', kind, 1, true) and (#fields[2] == 73 or string.byte(fields[2], 74) == 98)
end
local reply, left, after, most, few = {1, now}, 1048576, ARGV[3], ARGV[4] + 0.0, 1
while most > 0 and left > 0 do
  -- Of long ones few at once: an entry may have a megabyte of prizes.
  few = math.min(most, few)
  local found = redis.call('XRANGE', KEYS[3], after == '' and '-' or '(' .. after, '+', 'COUNT', few)
  local asked, longest = few, 0
  for _, entry in ipairs(found) do
    local fields, n = entry[2], #reply
    after = entry[1]
    -- What others put there is none of ours.
    if left > 0 and is_ours(fields) then
      reply[n + 1], reply[n + 2], reply[n + 3] = after, fields[2], fields[4] or ''
      local size = #fields[2] + #reply[n + 3]
      left, most, longest = left - size, most - 1, math.max(longest, size)
    end
  end
  if #found < asked then break end
  few = longest > 4096 and 1 or math.min(2 * few, 128)
end
return reply
