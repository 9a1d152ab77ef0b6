-- Tells the first waiters who fit that permits are free. Included after codec.
-- Those in order first, since nobody is granted before them. One that only wants a hint goes before newcomers once it was
-- told, but not for long: if it does not ask again it is forgotten. Once it has waited for long enough it is in order too.
-- Marks them in the table and returns where they stand, for publish.
local function in_order(how, since) return how % TOLD == 2 or now - since >= PATIENCE end
local function wake(t, permits)
  local room, told, cuts = permits - t.held, {}, {}
  for pass = 1, 2 do
    for at = 1, room > 0 and #t.waiters or 0, WAITER do
      local since, weight, how = struct.unpack('<I8I4B', t.waiters, at + 24)
      if in_order(how, since) == (pass == 1) then
        if weight <= room then
          room = room - weight
          if how < TOLD then told[#told + 1] = at end
        elseif pass == 1 then
          room = 0
          break
        end
      end
    end
  end
  if #told == 0 then return told end
  table.sort(told)
  for n, at in ipairs(told) do
    local till, since, weight, how = struct.unpack(WAITS, t.waiters, at + 16)
    if not in_order(how, since) then till = math.min(till, now + RIGHT_OF_WAY) end
    cuts[3 * n - 2], cuts[3 * n - 1] = at + 16, at + 37
    cuts[3 * n] = struct.pack(WAITS, till, since, weight, how + TOLD)
  end
  t.waiters = cut(t.waiters, 1, #t.waiters, cuts)
  return told
end
-- They ask once this script is done, so they may be told before the table is saved.
local function publish(t, told, prefix)
  for _, at in ipairs(told) do
    local channel = string.sub(t.waiters, at + 37, at + 52)
    tell(prefix .. channel, string.sub(t.waiters, at, at + 15))
  end
end
-- Takes the waiter at a place away; whether others may profit.
local function dismiss(t, at)
  local since, _, how = struct.unpack('<I8I4B', t.waiters, at + 24)
  t.waiters = string.sub(t.waiters, 1, at - 1) .. string.sub(t.waiters, at + WAITER)
  return how ~= 1 or in_order(how, since)
end
