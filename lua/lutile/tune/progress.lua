-- How far a long run is: a line on standard error, where that is a terminal.

local driver = require "lutile.cuda.driver"

local WIDTH = 24 -- characters of a full bar

local M = {}

local function bar(done, of)
  local n = of > 0 and WIDTH * done // of or WIDTH
  return "[" .. ("#"):rep(n) .. (" "):rep(WIDTH - n) .. "]"
end

-- show(what, done, of, more) replaces the line; show() takes it back.
function M.new(name, quiet)
  if quiet or not driver.shows_progress() then return function() end end
  return function(what, done, of, more)
    if not what then
      io.stderr:write "\r\27[K"
    else
      io.stderr:write(("\r%s: %s %s %d of %d%s\27[K"):format(name, what, bar(done, of), done, of,
        more or ""))
    end
    io.stderr:flush()
  end
end

return M
