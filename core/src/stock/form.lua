-- The state of a sale, and its time. Included after the clock.
-- KEYS of each sale: hash, holds (sorted set: when a hold ends, its member), ledger (stream).
-- The hash has at '' the state; at 'o' how it was opened; at 'c' who closed it; at 'b' and a buyer how many units are that
-- buyer's; of prizes at 'p' and a number those that are free, at 'g' and an id those that a reservation got.
-- State: 'QS' version, flags (B: 1 has prizes, 2 closed), then numbers of 8 bytes: per_buyer, ends, retention, cap, first prize;
-- available, held, sold, entries of the ledger, now, offset; due, kept, buyers.  Member: id (c16), quantity (I8), 'b' buyer.
-- Invariant: available, held and sold are all the units there are. The time of a sale counts from its opening and never goes
-- back: when the server's clock does, it goes on at its pace, so no hold lasts longer than its length.
local string, math = string, math
-- How many holds of each of so many sales end at once.
local function step_of(sales) return math.max(2, math.min(STEP, math.floor(HOLDS / sales))) end
-- How many units are a buyer's, by what stands in its field; none if it is not ours.
local function count_of(text)
  local count = tonumber(text)
  return count and count >= 0 and count % 1 == 0 and count or nil
end
-- How many units a member of the holds is about; none if it is not ours.
local function units_of(member)
  return #member > 24 and string.byte(member, 25) == 98 and struct.unpack('<I8', member, 17) or nil
end
