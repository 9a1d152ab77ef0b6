-- Puts a cost into the log; a call of the same microsecond as the last shares its entry. Included before each charge.
-- Rules of other policies count it too: there is one log, and it says what was admitted.
added = cost
--> bound
if next == 0 or last < now then
  next, last = next + 1, now
end
sum, logged = (sum + added) % WRAP, true
--> count
if other_count > 0 then
  for _, record in ipairs(others) do
    local kind, words = record.kind, record.words
    --* count
    if record.own_last then others_until = math.max(others_until, now + record.period) end
  end
end
