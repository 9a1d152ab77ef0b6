-- The rules of any policy, in a table: what a script works on that is not written out rule by rule. Included in load.
-- Their names tell what they are; their numbers follow the heading in ARGV, which stands after `at`.
local name_sizes, word_names = ALL_NAME_SIZES, ALL_WORD_NAMES
local fresh_words = ALL_FRESH_NAMES
local is_bucket, is_log = ALL_BUCKETS, ALL_LOGS
local heading, list, with_log, behind = ARGV[at + 1], {}, false, at + 2
local name_at, word_count, usual_holds = 5, 0, HOLD_HEAD
for number = 1, string.byte(heading, 4) do
  local id = string.byte(heading, name_at)
  local rule = {id = id, number = number, mark = 2 ^ (number - 1), wait = 0, left = 0, reset = 0}
  rule.name = string.sub(heading, name_at, name_at + name_sizes[id] - 1)
  rule.limit, rule.period = ARGV[behind] + 0.0, ARGV[behind + 1] + 0.0
  behind, name_at, word_count = behind + 2, name_at + name_sizes[id], word_count + #word_names[id]
  if is_bucket[id] then
    rule.capacity, rule.filled = ARGV[behind] + 0.0, usual_holds
    behind, usual_holds = behind + 1, usual_holds + FILLED_SIZE
  end
  for _, word in ipairs(word_names[id]) do rule[word] = 0 end
  list[number], with_log = rule, with_log or is_log[id]
end
local usual_size, format = #heading + 8 * word_count + (with_log and LOG_SIZE or 0), '<' .. string.rep('I8', word_count)
local every_rule = 2 ^ #list - 1
local function is_fresh(rule)
  for _, word in ipairs(fresh_words[rule.id]) do
    if rule[word] ~= 0 then return false end
  end
  return true
end
