-- Small products by plans' kernels on a device, for the sanitizer: each way to copy and to load.

package.path = "./?.lua;" .. package.path

local cuda = require "lutile.cuda"
local cases = require "spec.plan.cases"

local device = cuda.device()

for _, case in ipairs(cases.emulated) do
  if 10 * device.major + device.minor >= (case.arch or 89) and not case.tile then
    local result = cases.run(case, function(t) return t:to(cuda) end,
      function(t) return t:to_host() end)
    assert(result == "right", cases.name(case) .. ": " .. result)
  end
end
print "right"
