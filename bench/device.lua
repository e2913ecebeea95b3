-- The device that a benchmark is for; without one, that is said, and the benchmark ends.

local cuda = require "lutile.cuda"

local there, why = cuda.available()
if not there then
  print("no device: " .. why)
  os.exit(0)
end

return cuda.device()
