-- The state of a sale, and its time. Included after the clock.
-- KEYS of each sale: hash, holds (sorted set: when a hold ends, its member), ledger (stream).
-- The hash has at '' the state; at 'o' how it was opened; at 'c' who closed it; at 'b' and a buyer how many units are that
-- buyer's; of prizes at 'p' and a number those that are free, at 'g' and an id those that a reservation got.
-- State: 'QS' version, flags (B: 1 has prizes, 2 closed), then numbers of 8 bytes: per_buyer, ends, memory, cap, first prize;
-- available, held, sold, entries of the ledger, now, offset; due, kept, buyers.  Member: id (c16), quantity (I8), 'b' buyer.
-- Invariant: available, held and sold are all the units there are. The time of a sale counts from its opening and never goes
-- back: when the server's clock does, it goes on at its pace, so no hold lasts longer than its length.
local string, math = string, math
local NEVER, SIZE, STEP = 9007199254740992, 116, 16
