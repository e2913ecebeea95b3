-- A small list of products on a device, in one launch where it is for 9.0: for the sanitizer.

package.path = "./?.lua;" .. package.path

local cuda = require "lutile.cuda"
local cases = require "spec.plan.grouped_cases"

for _, more in ipairs { 8, 1 } do
  local result = cases.run(function(t) return t:to(cuda) end, function(t) return t:to_host() end,
    more)
  assert(result == "right", result)
end
print "right"
