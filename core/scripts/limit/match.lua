-- Which rule takes over which record. Included in migrate; sets `sources`, and what is kept for another policy.
-- Every rule takes over what its name says; else what counts as it does (the same algorithm and period, of buckets the same
-- rate): what is in its place, else the first; else the first of the same algorithm.
local rules = {}
--[each]
rules[N_1] = {name = NAME_1, kind = ID_1, limit = limit_1, period = period_1}
--[end]
for pass = 1, 4 do
  for r, rule in ipairs(rules) do
    for s, record in ipairs(records) do
      if sources[r] then break end
      local own = record.period == rule.period and (not is_bucket[rule.kind] or record.limit == rule.limit)
      local fits_here = pass == 1 and record.name == rule.name or own and (pass == 2 and s == r or pass == 3)
        or pass == 4 and record.stop > now
      if record.kind == rule.kind and not record.taken and fits_here then
        sources[r], record.taken, record.own = record, true, own
        if not own then
          -- Written down, it lives as long as the rule of now has it; until then it may be gone when it would have been.
          ends, dirty = ends or {}, true
          ends[r] = record.stop
        end
      end
    end
    --[log]
    if pass == 4 and is_log[rule.kind] then sources[r] = sources[r] or longest end
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
for r in ipairs(rules) do layout[r] = sources[r] or false end
-- Rules of another policy of this name, as there are while a new one is deployed: kept for it until they end.
for _, record in ipairs(records) do
  if not record.own and record.stop > now and other_count < MOST_OTHERS then
    other_count, others_until = other_count + 1, math.max(others_until, record.stop)
    other_names = other_names .. record.name
    other_words = other_words .. struct.pack('<' .. string.rep('I8', counts[record.kind]), unpack(record.words))
    layout[#layout + 1] = record
  end
end
