-- Who loads an entry, and the tokens. Included after form.
-- Invariant: a token is larger than every one before it.
local function next_token(e)
  return math.max(e.last + 1, now)
end
-- Whether an id has the lease now.
local function loads(e, id)
  return e.deadline > now and e.owner == id
end
local function end_lease(e)
  e.owner, e.deadline, e.ttl = NOBODY, 0, 0
end
-- A token given for this lease may still be used for so long: the entry must not be forgotten before.
local function guard(e, ttl)
  e.guard = math.max(e.guard, now + GOOD * ttl)
end
