-- Reads the state of a limiter's key. Included after the clock and the algorithms, before a transition.
-- KEYS[1] the key.  ARGV[5..] per rule: algorithm id, limit, period, capacity (0 where there is none).
-- Value: 'QL' version, then records: id, period, three words (unsigned 64 bit, little endian); last, if the key is
-- blocked, a record of id 0: length, until.
-- Invariant: a value that is not ours counts as none.
-- A rule is {three words, 4 limit, 5 period, 6 algorithm, 7 id, 8 wait, 9 capacity}.
local RECORD, RECORD_SIZE, BLOCK, BLOCK_SIZE, EXACT = '<BI8I8I8I8', 33, '<BI8I8', 17, 9007199254740992
local rules, block_length, block_until = {}, 0, 0
local value = redis.call('GET', KEYS[1])
-- Where the next record lies; nil once the state has another shape than the policy.
local at = value and string.sub(value, 1, 3) == 'QL\1' and 4 or nil
local foreign = value and not at or false
local size = value and #value or 0

for i = 5, #ARGV, 4 do
  local id, period = tonumber(ARGV[i]), tonumber(ARGV[i + 2])
  local rule = {0, 0, 0, tonumber(ARGV[i + 1]), period, algorithms[id], id, 0, tonumber(ARGV[i + 3])}
  rules[#rules + 1] = rule
  if at then
    if at + RECORD_SIZE <= size + 1 then
      local kind, kept, a, b, c, after = struct.unpack(RECORD, value, at)
      if kind == id and kept == period and a < EXACT and b < EXACT and c < EXACT then
        rule[1], rule[2], rule[3], at = a, b, c, after
      else
        at = nil
      end
    else
      at = nil
    end
  end
end

if value and not foreign and at ~= size + 1 then
  -- The policy changed, or there is a block: every record goes to the rule in its place, else to the first rule
  -- without one of the same algorithm and period, else of the same algorithm.
  local spare, index = {}, 0
  at = 4
  for _, rule in ipairs(rules) do rule[1], rule[2], rule[3], rule.found = 0, 0, 0, false end
  while at <= size and not foreign do
    local kind, record = string.byte(value, at), nil
    index = index + 1
    if kind == 0 and at + BLOCK_SIZE == size + 1 then
      local _, length, stop = struct.unpack(BLOCK, value, at)
      foreign = length >= EXACT or stop >= EXACT
      block_length, block_until, at = length, stop, at + BLOCK_SIZE
    elseif kind >= 1 and kind <= KINDS and at + RECORD_SIZE <= size + 1 then
      record = {struct.unpack(RECORD, value, at)}
      for w = 2, 5 do foreign = foreign or record[w] >= EXACT end
      spare[#spare + 1], at = record, at + RECORD_SIZE
      record.index = index
    else
      foreign = true
    end
  end
  for pass = 1, foreign and 0 or 3 do
    for r, rule in ipairs(rules) do
      for s, record in ipairs(spare) do
        local fits = record[1] == rule[7] and (pass == 3 or record[2] == rule[5]) and (pass > 1 or record.index == r)
        if fits and not rule.found then
          rule[1], rule[2], rule[3], rule.found = record[3], record[4], record[5], true
          table.remove(spare, s)
          break
        end
      end
    end
  end
  if foreign then block_length, block_until = 0, 0 end
end

local dirty = foreign
if block_until > now + block_length then
  block_until, dirty = now + block_length, true
end
