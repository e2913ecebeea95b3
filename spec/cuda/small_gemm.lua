-- Small products by plans' kernels on a device, for the sanitizer: each way to copy and to load.

package.path = "./?.lua;" .. package.path

local cuda = require "lutile.cuda"
local cases = require "spec.plan.cases"

local device = cuda.device()

local function check(case)
  local result = cases.run(case, function(t) return t:to(cuda) end,
    function(t) return t:to_host() end)
  assert(result == "right", cases.name(case) .. ": " .. result)
end

local capability = 10 * device.major + device.minor
for _, case in ipairs(cases.emulated) do
  if capability >= (case.arch or 89) and not case.tile then check(case) end
end
for _, list in ipairs { cases.hopper, cases.mma_by_tma } do
  for _, case in ipairs(list) do
    if cases.is_for(case, capability) then check(case) end
  end
end
print "right"
