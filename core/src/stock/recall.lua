-- Gives the first answer again to a request that took something. Included after form; what it answers ends with the members.
-- KEYS, last: what the request is remembered under.  ARGV, last: how long, in microseconds.
-- Value: 'QT' version, until when it is remembered (I8), the fields of the reply after the first two: 'n' and a number (I8), or
-- 's', a length (I4) and so many bytes.
local remembered, remembered_for = redis.call('GET', KEYS[#KEYS]), ARGV[#ARGV] + 0.0
if remembered and string.sub(remembered, 1, 3) ~= 'QT\1' then check_format(remembered) end
if remembered and #remembered >= 11 and string.sub(remembered, 1, 3) == 'QT\1' then
  local at, answer = 12, {1, now}
  if now < struct.unpack('<I8', remembered, 4) then
    while at <= #remembered do
      local is_text = string.sub(remembered, at, at) == 's'
      answer[#answer + 1], at = struct.unpack(is_text and '<I4c0' or '<I8', remembered, at + 1)
    end
    return answer
  end
end
