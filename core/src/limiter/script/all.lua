-- Charges several keys if all of them admit it, else none.
-- KEYS one for each charge.  ARGV[3] how many; then for each its form, whether its denial counts, cost, the rules'.
-- With a request id there follow a number that stands for the keys, and how long the request is remembered.
-- Reply: {1, now, with a request id that number, then the fields of each charge}.
-- Invariant: each key is read before any is written, and none stands twice in KEYS.
local count, at, decisions, charged = ARGV[3] + 0.0, 4, {}, true
for n = 1, count do
  local decide = wrap(forms[tonumber(ARGV[at])])
  local admitted, after = decide(KEYS[n], at + 2)
  if not admitted and ARGV[at + 1] == '1' then charged = false end
  decisions[n], at = decide, after
end
local reply = {1, now, tonumber(ARGV[at])}
for n = 1, count do
  local answer = decisions[n](charged)
  for field = 3, #answer do reply[#reply + 1] = answer[field] end
end
