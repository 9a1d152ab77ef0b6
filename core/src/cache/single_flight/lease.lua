-- Who loads an entry, and the tokens. Included after codec.
-- Invariant: a token is larger than every one before it.
local function next_token(e)
  return math.max(e.last + 1, now)
end
-- Whether an id has the lease now.
local function loads(e, id)
  return e.deadline > now and e.owner == id
end
-- Ends the lease of one who has used its token.
local function end_lease(e)
  e.owner, e.deadline, e.ttl = NOBODY, 0, 0
end
-- Takes the lease from one who may still use its token: the entry must not be forgotten before.
local function take_lease(e)
  e.guard = math.max(e.guard, good_until(e))
  end_lease(e)
end
