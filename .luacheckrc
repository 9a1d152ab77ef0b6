-- Scripts run in Redis' sandbox: exactly these names exist for them here. There is no os, io, require or print, and
-- cjson is left out on purpose (it loses digits and costs more than the flat integers we reply with).
stds.redis_script = {
  read_globals = {
    "ARGV", "KEYS", "redis", "struct", "bit",
    "math", "string", "table",
    "coroutine", "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type", "unpack",
  },
}
std = "redis_script"
max_line_length = 240
