-- Which rule takes over which record. Included in migrate; sets `sources`, and what is kept for another policy.
-- Every rule takes over what its name says; else what counts alike: without a log the same algorithm and period, of buckets the
-- same rate and capacity. Else it begins with what the first other one of the same algorithm counts, which stays for its policy
-- and is marked: no other rule begins with it. With a log it begins with what the one with the longest memory counts. What counts
-- alike is charged alike, so one record is enough.
local rules = {}
--[each]
rules[N_1] = {name = NAME_1, kind = ID_1, limit = limit_1, period = period_1, capacity = TOP_1}
--[end]
local function counts_alike(record, rule)
  return record.name == rule.name or record.kind == rule.kind and record.period == rule.period and not is_log[rule.kind]
    and (not is_bucket[rule.kind] or record.limit == rule.limit and record.capacity == rule.capacity)
end
for _, record in ipairs(records) do
  for _, rule in ipairs(rules) do record.own = record.own or counts_alike(record, rule) end
end
for pass = 1, 3 do
  for r, rule in ipairs(rules) do
    for _, record in ipairs(records) do
      if sources[r] then break end
      if pass == 1 and record.name == rule.name and not record.named or pass == 2 and counts_alike(record, rule) then
        sources[r], record.named = record, true
      elseif pass == 3 and record.kind == rule.kind and record.stop > now and not is_log[rule.kind]
        and not record.own and not record.given and not record.copied then
        -- Written down, it lives as long as the rule of now has it; until then it may be gone when it would have been.
        sources[r], record.given, ends, dirty = record, true, ends or {}, true
        ends[r] = record.stop
      end
    end
    --[log]
    if pass == 3 and is_log[rule.kind] and not sources[r] then
      local counted = 0
      for _, record in ipairs(records) do
        local kind, words = record.kind, record.words
        --* longest
      end
    end
    --[end]
  end
end
--[straight]
--[each]
if sources[N_1] then WORDS_1 = unpack(sources[N_1].words) else WORDS_1 = ZEROS_1 end
--[end]
--[end]
--[looped]
for r, rule in ipairs(list) do
  for n, word in ipairs(word_names[rule.id]) do rule[word] = sources[r] and sources[r].words[n] or 0 end
end
--[end]
-- Rules of another policy of this name are kept for it, so that they begin with nothing new when it calls again; of too many
-- those that end last.
others = {}
for _, record in ipairs(records) do
  if record.kept and not record.own then others[#others + 1] = record end
end
while #others > MOST_OTHERS do
  local first = 1
  for n, record in ipairs(others) do
    if record.stop < others[first].stop then first = n end
  end
  table.remove(others, first)
end
names = ''
local function add_name(name, given)
  names = names .. (given and string.char(string.byte(name) + GIVEN) .. string.sub(name, 2) or name)
end
for r, rule in ipairs(rules) do
  layout[r] = sources[r] or false
  add_name(rule.name, sources[r] and sources[r].own and sources[r].given)
end
for _, record in ipairs(others) do
  layout[#layout + 1], other_size = record, other_size + #record.name + 8 * #record.words
  add_name(record.name, record.given)
  others_until = math.max(others_until, record.stop)
  --[plain]
  if is_log[record.kind] then other_log = log end
  --[end]
end
other_count = #others
