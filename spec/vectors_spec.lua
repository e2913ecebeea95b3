-- Every line of the reference vectors, by the names of its operations.

local lutile = require "lutile"
local laws = require "spec.support.laws"
local vectors = require "spec.support.vectors"

-- Operations whose arguments come in another form than in the files.
local forms = {}
do
  local found, more = pcall(require, "spec.support.vector_forms")
  if found then forms = more end
end

local MOST_REPORTED = 20

-- Names of atoms, types and fields are no values: they stay text.
local function read(text)
  local is_value, value = pcall(lutile.from_cute, text)
  if is_value then return value end
  return text
end

local function arguments(case)
  local args = { n = #case.args }
  for i, text in ipairs(case.args) do args[i] = read(text) end
  return args
end

local function run(operation, args)
  local results = table.pack(pcall(operation, table.unpack(args, 1, args.n)))
  return table.unpack(results, 1, results.n)
end

local function passes_law(case, args, result, offset)
  local lawful, message = pcall(laws.check, case.op, args, result, offset)
  return lawful, message
end

-- nil where the case holds, else what is wrong.
local function problem(case, args, quirk, raised, result, offset)
  if raised then
    if case.expected == "!error" or quirk then return nil end
    return "raised " .. tostring(result)
  end
  local text = type(result) == "string" and result or lutile.to_cute(result, offset)
  if case.expected == "!error" or quirk then
    local lawful, message = passes_law(case, args, result, offset)
    if lawful then return nil end
    return ("gave %s, against its law: %s"):format(text, message)
  end
  local expected = vectors.corrected(case)
  if vectors.comparable(text) == vectors.comparable(expected) then return nil end
  return "gave " .. text
end

local function describe_case(path, case, what)
  return ("%s:%d: %s(%s) = %s: %s"):format(path:match "[^/]+$", case.line, case.op,
    table.concat(case.args, ", "), case.expected, what)
end

local function check(case, operation, quirk)
  local args = arguments(case)
  local succeeded, result, offset = run(operation, args)
  return problem(case, args, quirk, not succeeded, result, offset)
end

local function check_file(path, missing)
  local quirk = path:find "quirks%.tsv$" ~= nil
  local passed, absent, problems = 0, 0, {}
  local cases = vectors.cases(path)
  for _, case in ipairs(cases) do
    local operation = forms[case.op] or lutile[case.op]
    if not operation then
      absent = absent + 1
      missing[case.op] = (missing[case.op] or 0) + 1
    else
      local what = check(case, operation, quirk)
      if what then
        problems[#problems + 1] = describe_case(path, case, what)
      else
        passed = passed + 1
      end
    end
  end
  return passed, #cases, absent, problems
end

local function report_missing(missing)
  local names = {}
  for name, count in pairs(missing) do names[#names + 1] = ("%s (%d)"):format(name, count) end
  table.sort(names)
  if #names > 0 then print("operations still missing: " .. table.concat(names, ", ")) end
end

describe("the reference vectors", function()
  local paths, searched = vectors.files()
  local missing, report = {}, {}

  if #paths == 0 then pending("skipped: no .tsv file in " .. searched) end

  teardown(function()
    for _, line in ipairs(report) do print(line) end
    report_missing(missing)
  end)

  for _, path in ipairs(paths) do
    local name = path:match "[^/]+$"
    it(name .. " holds", function()
      local passed, total, absent, problems = check_file(path, missing)
      local more = absent > 0 and (", %d of missing operations"):format(absent) or ""
      report[#report + 1] = ("%s: %d/%d passed%s"):format(name, passed, total, more)
      local shown = table.concat(problems, "\n", 1, math.min(#problems, MOST_REPORTED))
      assert(#problems == 0, ("%d of %d failed:\n%s"):format(#problems, total, shown))
    end)
  end
end)
