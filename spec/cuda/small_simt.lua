-- Small products by multiply-adds on a device; run by itself, also under compute-sanitizer. Raises
-- where one is wrong.

package.path = "./?.lua;" .. package.path

local cuda = require "lutile.cuda"
local cases = require "spec.plan.simt_cases"

local function to_device(t) return t:to(cuda) end
local function to_host(t) return t:to_host() end

for _, case in ipairs(cases.all) do
  local result = case[2](to_device, to_host)
  assert(result == "right", case[1] .. ": " .. result)
end
cuda.synchronize()
