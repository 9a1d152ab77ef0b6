-- The clock went back: entries from the future become one of now. Included in load, for a log.
if last > now and next > 0 then
  local oldest, low, from = next, nil, next - 1
  --> oldest
  low = oldest
  while low < from do
    local middle = low + (from - low - (from - low) % 2) / 2
    if entry(middle) > now then from = middle else low = middle + 1 end
  end
  next, last, logged, dirty = from + 1, now, true, true
  --> gather
end
