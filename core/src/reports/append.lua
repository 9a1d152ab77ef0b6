-- Adds what a process has decided to the stream of reports, which keeps the last MOST of them, none for longer than a day.
-- KEYS the stream.  ARGV[3..] fields and values.  Reply: {1, now, 1}.
-- Rights are tried before anything is added: without its TTL the stream would stay.
redis.call('XTRIM', KEYS[1], 'MINID', string.format('%.0f', math.max(now / 1000 - KEPT, 0)))
redis.call('PEXPIRE', KEYS[1], KEPT)
redis.call('XADD', KEYS[1], 'MAXLEN', '~', MOST, '*', unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], KEPT)
return {1, now, 1}
