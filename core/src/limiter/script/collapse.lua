-- The clock went back: entries from the future become one of now. Included in load, for a log.
if last > now and next > 0 then
  local oldest, low, from = next, nil, next - 1
  --> oldest
  if other_count > 0 then
    for _, record in ipairs(others) do
      local kind, words = record.kind, record.words
      --* oldest
    end
  end
  low = oldest
  while low < from do
    local middle = low + (from - low - (from - low) % 2) / 2
    if entry(middle) > now then from = middle else low = middle + 1 end
  end
  next, last, logged, dirty = from + 1, now, true, true
  --> gather
  if other_count > 0 then
    for _, record in ipairs(others) do
      local kind, words = record.kind, record.words
      --* gather
    end
  end
end
