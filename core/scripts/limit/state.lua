-- The state of a limiter's key, brought to `now`, and how it is written and answered.
-- KEYS[1] the key.  ARGV[5..] per rule: algorithm id, limit, period.
-- Value: 'QL' version, then records: id, period, words (unsigned, little endian); id 0 is a block: length, until.
-- Reply of answer(): {1, now, healed, block left, then per rule: wait (-1 never), remaining, reset_after}.
-- Invariant: a value that is not ours counts as none; what save() writes always has a TTL, for garbage only.
local FORMATS = {[0] = '<BI8I8', [1] = '<BI8I8I8', [2] = '<BI8I8I8'}
local SIZES = {[0] = 17, [1] = 25, [2] = 25}
local EXACT = 2 ^ 53

local rules = {}
for i = 5, #ARGV, 3 do
  rules[#rules + 1] = {
    0, 0, 0,
    algorithm = algorithms[tonumber(ARGV[i])], limit = tonumber(ARGV[i + 1]), period = tonumber(ARGV[i + 2]),
  }
end
local block_length, block_until = 0, 0

local function take(rule, record)
  rule.found = true
  for w = 3, #record - 1 do rule[w - 2] = record[w] end
end

-- Gives the records that lie elsewhere than their rule (the policy changed) to the rules that have none.
local function match(spare)
  for _, same_period in ipairs({true, false}) do
    for _, rule in ipairs(rules) do
      for s, record in ipairs(spare) do
        if not rule.found and record[1] == rule.algorithm.id and (record[2] == rule.period or not same_period) then
          take(rule, record)
          table.remove(spare, s)
          break
        end
      end
    end
  end
end

local function load(value)
  if string.sub(value, 1, 3) ~= 'QL\1' then return false end
  local at, records = 4, {}
  while at <= #value do
    local id = string.byte(value, at)
    if not SIZES[id] or at + SIZES[id] > #value + 1 then return false end
    local record = {struct.unpack(FORMATS[id], value, at)}
    at = record[#record]
    for w = 2, #record - 1 do
      if record[w] >= EXACT then return false end
    end
    records[#records + 1] = record
  end
  local spare = {}
  for i, record in ipairs(records) do
    local rule = rules[i]
    if record[1] == 0 then
      block_length, block_until = record[2], record[3]
    elseif rule and record[1] == rule.algorithm.id and record[2] == rule.period then
      take(rule, record)
    else
      spare[#spare + 1] = record
    end
  end
  if #spare > 0 then match(spare) end
  return true
end

local value = redis.call('GET', KEYS[1])
local foreign = value and not load(value) or false
local dirty = foreign
for _, rule in ipairs(rules) do
  if rule.algorithm.settle(rule) then dirty = true end
end
if block_until > now + block_length then
  block_until, dirty = now + block_length, true
end

local function block_left() return math.max(0, block_until - now) end

local function save()
  local life, records = block_left(), {'QL\1'}
  for i, rule in ipairs(rules) do
    local id = rule.algorithm.id
    life = math.max(life, rule.algorithm.reset_after(rule))
    records[i + 1] = struct.pack(FORMATS[id], id, rule.period, rule[1], rule[2], rule[3])
  end
  if life == 0 then
    if value then redis.call('DEL', KEYS[1]) end
    return
  end
  if block_until > now then records[#records + 1] = struct.pack(FORMATS[0], 0, block_length, block_until) end
  local ttl = math.ceil(life / 1000) + 1
  -- Virtual time stands still while the server's runs: keep the key for the test.
  if virtual then ttl = math.max(ttl, 3600000) end
  redis.call('SET', KEYS[1], table.concat(records), 'PX', string.format('%.0f', ttl))
end

local function answer(cost, healed)
  local reply = {1, now, healed and 1 or 0, block_left()}
  for _, rule in ipairs(rules) do
    local algorithm, n = rule.algorithm, #reply
    reply[n + 1] = rule.wait or algorithm.wait(rule, cost)
    reply[n + 2] = algorithm.remaining(rule)
    reply[n + 3] = algorithm.reset_after(rule)
  end
  return reply
end
