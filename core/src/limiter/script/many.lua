-- Decides about several keys, each by itself, for calls that differ in nothing else.
-- KEYS one for each call; one may stand there twice.
-- Reply: for each the reply to a call of its own, or nothing if that failed: it was not done then, and asked alone the
-- server says why.
local replies = {}
for n = 1, #KEYS do
  local done, reply = pcall(decide, KEYS[n])
  replies[n] = done and reply
end
return replies
