-- Tells the numbers of a sale, after the holds that are over have returned.
-- KEYS three.
-- Reply: {1, now, 0 not open, 1 open, 2 ended; but for the first available, held, sold, buyers, per_buyer, ends}.
local s = load(1, 'o')
if not s then return {1, now, 0} end
if s.due <= s.now then release(s, HOLDS) end
if s.dirty then save(s) end
return {1, now, s.ended and 2 or 1, s.available, s.held, s.sold, s.buyers, s.per_buyer, s.ends}
