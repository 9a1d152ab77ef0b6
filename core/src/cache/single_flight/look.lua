-- Looks at entries, and gives the caller the lease to load those that need it.
-- KEYS an entry and its waiters, for each, or the entries alone: then nobody is listed to be told.  ARGV[3] id.  ARGV[4] ttl of the lease in microseconds, 0 to look only.
-- ARGV[5] channel to be told at, or ''.  ARGV[6..] for each entry, luck in thousandths: 0 refreshes nothing early.
-- Reply: {1, now, then for each, or for the first of them: duty (0 none, 1 the caller loads it, 2 another does), token, how long the lease or the
-- error lasts, kind, whether it is stale, age, payload}.
-- Invariant: one id at a time has the lease of an entry, under a token of its own; payloads of more than MOST_BYTES in all are
-- answered one by one, so that others have their turn: of the entries behind nothing is done, and they are asked for again.
local id, ttl, channel = ARGV[3], ARGV[4] + 0.0, ARGV[5]
local entries, reply, heads, wholes, waits, bytes = {}, {1, now}, {}, {}, {}, 0
-- Whether the server takes writes. One that is full, cannot persist or lacks replicas still serves the values it has, stale
-- ones too: who loads would not be able to store what is loaded.
local function takes_writes(e)
  local done = redis.pcall('SETRANGE', e.key, 0, 'QC\1')
  local refused = type(done) == 'table' and done.err or ''
  return not (string.find(refused, 'OOM') or string.find(refused, 'MISCONF') or string.find(refused, 'NOREPLICAS'))
end
-- Whether an entry that is of use for so long still is to be loaded already: the longer its load took, the earlier.
local function is_early(e, left, luck)
  local ahead = math.min(e.delta, LONGEST_DELTA) * luck
  return ahead > 0 and (ahead - ahead % 1000) / 1000 >= left
end
-- What is to be done about an entry: the caller may get its lease.
local function duty_of(e, is_due)
  if ttl == 0 then return NO_DUTY end
  if loads(e, id) then return LOADS end
  if not is_due then return NO_DUTY end
  if e.deadline > now then return ANOTHER_LOADS end
  if e.kind ~= NOTHING and (now < e.failed + e.pause or not takes_writes(e)) then return NO_DUTY end
  take_lease(e)
  e.last, e.owner, e.deadline, e.ttl, e.dirty = next_token(e), id, now + ttl, ttl, true
  return LOADS
end
local step = #KEYS / (#ARGV - 5)
for n = 1, #ARGV - 5 do
  local e = load(KEYS[step * (n - 1) + 1])
  bytes = bytes + e.size
  if n > 1 and bytes > MOST_BYTES then break end
  entries[n] = e
end
for n, e in ipairs(entries) do
  local over = e.made + e.fresh
  local is_value = e.kind ~= NOTHING and e.kind ~= ERROR
  local stale = is_value and now >= over
  local early = is_value and is_early(e, over - now, ARGV[5 + n] + 0.0)
  local duty = duty_of(e, e.kind == NOTHING or stale or early)
  local left = duty ~= NO_DUTY and e.deadline - now or e.kind == ERROR and over + e.stale - now or 0
  if e.dirty and ttl > 0 and (duty == LOADS or e.kind == NOTHING or takes_writes(e)) then
    e.head, e.kept = packed(e)
    local list = (e.whole or #e.head ~= e.offset) and wholes or heads
    list[#list + 1] = e
  end
  if duty == ANOTHER_LOADS and e.kind == NOTHING and channel ~= '' and step == 2 then waits[#waits + 1] = KEYS[2 * n] end
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3] = duty, duty == LOADS and e.last or 0, left
  reply[at + 4], reply[at + 5], reply[at + 6] = e.kind, stale and 1 or 0, e.kind ~= NOTHING and now - e.made or 0
  reply[at + 7] = payload(e)
end
-- A user who may not call a command is refused before any entry changed: writing nothing is refused as well, a hint does no
-- harm, and here a TTL becomes longer only.
if #heads > 0 then redis.call('SETRANGE', heads[1].key, 0, '') end
for _, key in ipairs(waits) do register(key, channel) end
for _, e in ipairs(heads) do redis.call('PEXPIRE', e.key, e.kept) end
for _, e in ipairs(wholes) do redis.call('SET', e.key, e.head .. payload(e), 'PX', e.kept) end
for _, e in ipairs(heads) do redis.call('SETRANGE', e.key, 0, e.head) end
return reply
