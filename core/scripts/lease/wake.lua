-- Tells the first waiters who fit that permits are free. Included after form.
-- Those in order first, since nobody is granted before them; one that was told is passed over until it asks again, but
-- one in order keeps its permits.
-- Marks them in the table and returns where they stand, for publish once the table is saved.
local function wake(t, permits)
  local room, told, cuts = permits - t.held, {}, {}
  for how = 2, 1, -1 do
    for at = 1, room > 0 and #t.waiters or 0, WAITER do
      local weight, mark = struct.unpack('<I4B', t.waiters, at + 32)
      if mark % 128 == how then
        if weight > room and how == 2 then
          room = 0
          break
        elseif weight <= room and (how == 2 or mark < 128) then
          room = room - weight
          if mark < 128 then told[#told + 1] = at end
        end
      end
    end
  end
  if #told == 0 then return told end
  table.sort(told)
  for n, at in ipairs(told) do
    local how = string.byte(t.waiters, at + 36)
    cuts[3 * n - 2], cuts[3 * n - 1], cuts[3 * n] = at + 36, at + 37, string.char(how + 128)
  end
  t.waiters = cut(t.waiters, 1, #t.waiters, cuts)
  return told
end
local function publish(t, told, prefix)
  for _, at in ipairs(told) do
    local channel = string.sub(t.waiters, at + 37, at + 52)
    redis.call('PUBLISH', prefix .. channel, string.sub(t.waiters, at, at + 15))
  end
end
-- Takes the waiter at a place away; whether others may profit.
local function dismiss(t, at)
  local how = string.byte(t.waiters, at + 36)
  t.waiters = string.sub(t.waiters, 1, at - 1) .. string.sub(t.waiters, at + WAITER)
  return how ~= 1
end
