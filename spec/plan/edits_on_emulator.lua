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

local function print_case(run, case)
  local good, result = pcall(run, case, "cuda")
  print(("%s: %s"):format(case.why, good and result or "raises " .. result))
end

for _, case in ipairs(cases.good) do print_case(cases.run, case) end
for _, case in ipairs(cases.good_chained) do print_case(cases.run_chained, case) end

-- Random layouts that are not refused.
local function run_random(make, run, k, most)
  local count = 0
  while count < most do
    local a, b = cases.random_layout(k), cases.random_layout(k)
    local case = { change = function(p) p.A.shared, p.B.shared = a, b end }
    local p = make(case)
    if pcall(p.check, p) then
      local result = run(case, "cuda")
      print(result == "0 wrong" and result or ("%s and %s: %s"):format(a, b, result))
      count = count + 1
    end
  end
end

run_random(cases.plan, cases.run, 64, 5)
run_random(cases.chained, cases.run_chained, 32, 3)
