-- Run by edit_spec.lua with the pretended driver: changed plans on a device whose kernels are the
-- templates themselves, with emulated instructions. Prints a line a case.

local cuda = require "lutile.cuda"
local cases = require "spec.plan.edit_cases"

cuda.compile = require "spec.support.emulated".compile

-- The emulator has every instruction.
local device = cuda.device
function cuda.device(i)
  local d = device(i)
  d.major, d.minor = 9, 0
  return d
end

for _, case in ipairs(cases.good) do
  local good, result = pcall(cases.run, case, "cuda")
  print(("%s: %s"):format(case.why, good and result or "raises " .. result))
end

-- Random layouts that are not refused.
local count = 0
while count < 6 do
  local a, b = cases.random_layout(), cases.random_layout()
  local case = { change = function(p) p.A.shared, p.B.shared = a, b end }
  local p = cases.plan(case)
  if pcall(p.check, p) then
    local result = cases.run(case, "cuda")
    print(result == "0 wrong" and result or ("%s and %s: %s"):format(a, b, result))
    count = count + 1
  end
end
