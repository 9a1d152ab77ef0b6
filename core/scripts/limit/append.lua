-- Puts a cost into the log; a call of the same microsecond as the last shares its entry. Included before each charge.
added = cost
--> bound
if next == 0 or last < now then
  next, last = next + 1, now
end
sum, logged = (sum + added) % WRAP, true
