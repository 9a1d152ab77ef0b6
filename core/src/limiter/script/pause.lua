-- Ways to run a function up to its pause, and to go on with what it is told there. See all.lua.
local has_coroutines, wrap, pause = pcall(function() return coroutine.wrap, coroutine.yield end)
-- Dragonfly has no coroutines. There the function runs to its pause, and then once more: it has written nothing by then.
if not has_coroutines then
  local verdict, paused
  pause = function(...)
    if verdict ~= nil then return verdict end
    paused = {...}
    error(paused)
  end
  wrap = function(decide)
    local key, at
    return function(told, behind)
      if key then
        verdict = told
        return decide(key, at)
      end
      key, at, verdict = told, behind, nil
      local problem = select(2, pcall(decide, key, at))
      if problem ~= paused then error(problem, 0) end
      return paused[1], paused[2]
    end
  end
end
