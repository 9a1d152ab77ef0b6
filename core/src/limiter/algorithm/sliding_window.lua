-- sliding-window: the previous window's count, weighted by how much of it lies in the last period, and the current one's.
-- Admitted when previous * (period - e) + (current + cost) * period <= limit * period, e the time into the window.
-- That is current + cost + weight <= limit, with weight = ceil(previous * (period - e) / period).
-- Words: a time in the current window, not before its last charge (its start, if it has none), current, previous;
-- of counts that were given back as a whole: when that was, 0, 0.
-- Invariant after settle: all words 0, or the time lies in now's window. A count above the limit, which was lowered or is shared
-- with a policy that admits more, is judged as the limit: it denies for no longer than this policy says.
--> simple
local ARGUMENTS_1 = VALUES_1
local WORDS_1 = struct.unpack(ALL_FORMAT, value, ALL_PREFIX + 1)
local gone = now % period_1
local faded, space = previous_1 * gone, limit_1 - current_1
if current_1 > 0 and space >= 0 and previous_1 <= limit_1 and last_1 <= now and last_1 >= now - gone and cost <= limit_1
  and faded < EXACT and SUM_1 < EXACT then
  wait, left, reset = 0, space - previous_1 + (faded - faded % period_1) / period_1, 2 * period_1 - gone
  if cost <= left then
    if not look then left, bytes = left - cost, struct.pack(ALL_FORMAT, now, current_1 + cost, previous_1) end
  elseif cost > space then
    -- Not before the next window, where the current count is the previous one.
    local fits = limit_1 - cost
    if fits > current_1 then fits = current_1 end
    local weight = fits * period_1
    wait = weight < EXACT and reset - (weight - weight % current_1) / current_1
  else
    local weight = (space - cost) * period_1
    wait = weight < EXACT and period_1 - gone - (weight - weight % previous_1) / previous_1
  end
  if left < 0 then left = 0 end
end
--> ends
back, last_1 = last_1 > now, math.min(last_1, now)
local window = last_1 - last_1 % period_1
stop = current_1 > 0 and window + 2 * period_1 or previous_1 > 0 and window + period_1 or last_1
--> helpers
-- floor(a * b / c) for a <= c. Products reach 2^104: beyond 2^53 they are compared in two parts of 52 bits.
local function share(a, b, c)
  local simple = a * b
  if simple < EXACT then return (simple - simple % c) / c end
  local function product(x, y)
    local x_low, y_low = x % 67108864, y % 67108864
    local x_high, y_high = (x - x_low) / 67108864, (y - y_low) / 67108864
    local middle = x_high * y_low + x_low * y_high
    local low = x_low * y_low + (middle % 67108864) * 67108864
    local carried = (middle - middle % 67108864) / 67108864 + (low - low % MOST) / MOST
    return x_high * y_high + carried, low % MOST
  end
  local high, low = product(a, b)
  local function covers(quotient)
    local other_high, other_low = product(quotient, c)
    return other_high < high or other_high == high and other_low <= low
  end
  local estimate = math.min(math.floor(a / c * b), b)
  while estimate > 0 and not covers(estimate) do estimate = estimate - 1 end
  while estimate < b and covers(estimate + 1) do estimate = estimate + 1 end
  return estimate
end
--> carry
local kept = sources[N_1]
if kept and not kept.own then
  -- Each old window counts where its last charge was, or may have been.
  local window, here, before = now - now % period_1, 0, 0
  local function count(charged, amount)
    local place = charged - charged % period_1
    if place == window then
      here = here + amount
    elseif place == window - period_1 then
      before = before + amount
    end
  end
  count(last_1, current_1)
  local start = last_1 - last_1 % kept.period
  if start > 0 then count(start - 1, previous_1) end
  current_1, previous_1, last_1 = here, before, math.max(last_1, window)
end
--> settle
local window, back = now - now % period_1, last_1 > now
if back then last_1 = now end
if last_1 < window then
  previous_1 = last_1 >= window - period_1 and current_1 or 0
  current_1, last_1 = 0, window
end
if current_1 == 0 and previous_1 == 0 then
  last_1 = 0
elseif back then
  dirty = true
end
--> wait
if cost > limit_1 then
  wait_1 = -1
else
  local current, previous = current_1, previous_1
  if current > limit_1 then current = limit_1 end
  if previous > limit_1 then previous = limit_1 end
  local space, gone = limit_1 - current - cost, now % period_1
  if space < 0 then
    -- Not before the next window, where the current count is the previous one.
    wait_1 = 2 * period_1 - gone - share(math.min(limit_1 - cost, current), period_1, current)
  elseif previous - share(gone, previous, period_1) > space then
    wait_1 = period_1 - gone - share(space, period_1, previous)
  end
end
--> charge
last_1, current_1 = now, current_1 + cost
if current_1 > MOST then current_1 = MOST end
--> refund
-- From the current window first, if it was charged there.
local window, given = now - now % period_1, amount
if since >= window then
  given = math.max(0, amount - current_1)
  current_1 = math.max(0, current_1 - amount)
end
if since >= window - period_1 then previous_1 = math.max(0, previous_1 - given) end
if current_1 == 0 and previous_1 == 0 then last_1 = now end
--> show
local gone, previous = now % period_1, previous_1
if previous > limit_1 then previous = limit_1 end
left_1 = limit_1 - current_1 - previous + share(gone, previous, period_1)
reset_1 = current_1 > 0 and 2 * period_1 - gone or previous_1 > 0 and period_1 - gone or 0
