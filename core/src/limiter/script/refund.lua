-- Gives back an amount to every rule that still counts it; a rule never falls below zero.
-- ARGV[3] amount.  The answer is what a look of cost 1 after it would get.
local amount, since, hold, cost, charged = ARGV[3] + 0.0, now, nil, 1, true
--> refund
--> wait
local write = value
