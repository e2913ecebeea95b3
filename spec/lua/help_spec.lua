local lutile = require "lutile"
local help = require "lutile.help"
local complete = require "lutile.complete"

-- The text of the annotations, wherever the specs run from.
local function annotations()
  local name = package.searchpath("lutile.meta", "lua/?.lua;" .. package.path)
  local file = assert(io.open(name))
  local text = file:read "a"
  file:close()
  return text
end

describe("the annotations", function()
  local entries = help.parse(annotations())
  local mma = lutile.make_tiled_mma "UniversalFMA<f32>"
  local copy = lutile.make_tiled_copy(lutile.Copy_Atom("UniversalCopy<u8>", "u8"), 4)
  local examples = { -- a value of each class
    TiledMMA = mma, ThrMMA = mma:get_slice(0), TiledCopy = copy, ThrCopy = copy:get_slice(0),
    Plan = lutile.plan.gemm { dtype = "f16", M = 16, N = 16, K = 16, arch = 80 },
    GroupedPlan = lutile.plan.grouped_gemm { groups = { { M = 16, N = 16, K = 16 } },
      dtype = "f16", arch = 80 },
  }
  -- Values of these are there where a device is.
  local of_devices = { Device = true, DeviceBuffer = true, Stream = true, Event = true,
    Graph = true, Kernel = true }

  it("have an entry for each function of the module", function()
    local missing = {}
    for name, value in pairs(lutile) do
      if type(value) == "function" and not entries[name] then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("have each function once", function()
    local seen = {}
    for name in annotations():gmatch "\nfunction ([%w_.:]+)" do
      assert.is_nil(seen[name], name)
      seen[name] = true
    end
    assert.truthy(next(seen))
  end)

  it("have no entry for what is not there", function()
    local missing = {}
    for _, entry in ipairs(entries) do
      local class, method = entry.name:match "^(.*):(.*)$"
      local part, name = entry.name:match "^(.*)%.(.*)$"
      local value = examples[class] and examples[class][method] or part and lutile[part][name]
        or lutile[entry.name]
      if not of_devices[class] and type(value) ~= "function" then
        missing[#missing + 1] = entry.name
      end
    end
    assert.same({}, missing)
  end)

  it("say something of each", function()
    for _, entry in ipairs(entries) do
      assert.matches("^%S.*%.$", entry.text, 1, false, entry.name)
    end
  end)
end)

describe("completion", function()
  _G.spec_table = { alpha = { beta = 1 }, alps = 2, [1] = 3, ["not a name"] = 4 }
  _G.spec_layout = lutile.make_layout(4)

  for text, expected in pairs {
    ["spec_table.al"] = { { "alpha", "alps" }, 2 },
    ["x = spec_table.alpha."] = { { "beta" }, 0 },
    ["spec_tabl"] = { { "spec_table" }, 9 },
    ["whil"] = { { "while" }, 4 },
    ["io.stdout:wri"] = { { "write" }, 3 },
    ["spec_layout:complem"] = { { "complement" }, 7 },
    ["spec_layout.strid"] = { { "stride" }, 5 },
    ["spec_nothing.x"] = { {}, 1 },
    ["spec_table.alps.x"] = { {}, 1 },
    ["f():x"] = { {}, 1 },
    ["1 ..spec_tab"] = { { "spec_table" }, 8 },
  } do
    it(("of %q"):format(text), function() assert.same(expected, { complete(text) }) end)
  end

  it("has no metamethods", function()
    _G.spec_object = setmetatable({}, { __index = { __index = 1, __call = 2, made = 3 } })
    assert.same({ { "made" }, 0 }, { complete "spec_object." })
  end)

  it("has the methods of a plan's class, and after a dot the plan's own fields", function()
    local _, methods_of = help.make(annotations)
    _G.spec_plan = lutile.plan.gemm { dtype = "f16", M = 16, N = 16, K = 16, arch = 80 }
    assert.same({ "check", "compile_options", "kernel", "prepare", "report", "run", "source", "svg",
      "with" },
      (complete("spec_plan:", methods_of)))
    assert.same({ "tile" }, (complete("spec_plan.til", methods_of)))
    assert.same({}, (complete("spec_plan.fallb", methods_of)))
    assert.same({ "single" }, (complete("spec_plan:si", function() return { "single" } end)))
  end)

  it("calls nothing of the user's", function()
    _G.spec_trap = setmetatable({}, { __index = function() error "called" end })
    assert.same({ {}, 1 }, { complete "spec_trap.x" })
  end)
end)

describe("help", function()
  local explain, functions_of = help.make(annotations)

  -- What help prints.
  local function said(...)
    local text, print = nil, _G.print
    _G.print = function(x) text = x end
    local good, why = pcall(explain, ...)
    _G.print = print
    assert.is_true(good, why)
    return text
  end

  for name, first in pairs {
    ["plan.gemm"] = "plan.gemm(options)",
    ["lutile.plan.gemm"] = "plan.gemm(options)",
    ["plan:gemm"] = "plan.gemm(options)",
    ["lutile.size"] = "size(x, ...)",
    ["Plan:with"] = "Plan:with(changes)",
    ["Plan.with"] = "Plan:with(changes)",
    ["plan:with"] = "Plan:with(changes)",
    ["lutile.Plan.with"] = "Plan:with(changes)",
    ["with"] = "Plan:with(changes)",
    ["Plan:single"] = "GroupedPlan:single(group, i)",
    ["GroupedPlan:svg"] = "Plan:svg(what)",
    ["lutile.cuda.Kernel:resources"] = "Kernel:resources()",
    ["Plan"] = "Plan: run prepare with check report svg source compile_options kernel",
    ["plan"] = "plan: gemm grouped_gemm chained_gemm",
    ["lutile.plan"] = "plan: gemm grouped_gemm chained_gemm",
    ["Plan:size"] = 'no help on "Plan:size": help() lists the names',
    ["nothing.at.all"] = 'no help on "nothing.at.all": help() lists the names',
  } do
    it("finds " .. name, function() assert.equal(first, said(name):match "^[^\n]*") end)
  end

  it("of a plan is that of its class", function()
    local sizes = { dtype = "f16", M = 16, N = 16, K = 16, arch = 80 }
    assert.equal(said "Plan", said(lutile.plan.gemm(sizes)))
    assert.matches("\n  A table of layouts, numbers and reasons; .*\n  threads +integer\n",
      said "Plan")
    sizes.arch = 90
    assert.equal(said "Plan", said(lutile.plan.gemm(sizes)))
    assert.equal(said "Plan",
      said(lutile.plan.chained_gemm { dtype = "f16", M = 64, N = 64, arch = 80 }))
    local grouped = lutile.plan.grouped_gemm { groups = { { M = 16, N = 16, K = 16 } },
      dtype = "f16", arch = 80 }
    assert.matches("^GroupedPlan: run prepare single with ", said(grouped))
    assert.is_falsy(functions_of {})
  end)

  it("of a plan's method is that of its name", function()
    local p = lutile.plan.gemm { dtype = "f16", M = 16, N = 16, K = 16, arch = 90 }
    for _, name in ipairs { "run", "prepare", "with", "report", "svg", "source",
      "compile_options" } do
      assert.equal(said("Plan:" .. name), said(p[name]))
    end
    local chained = lutile.plan.chained_gemm { dtype = "f16", M = 64, N = 64, arch = 80 }
    assert.equal(said "Plan:run", said(chained.run))
    local grouped = lutile.plan.grouped_gemm { groups = { { M = 16, N = 16, K = 16 } },
      dtype = "f16", arch = 80 }
    assert.equal(said "GroupedPlan:run", said(grouped.run))
    assert.equal(said "GroupedPlan:single", said(grouped.single))
    assert.equal(said "Plan:svg", said(grouped.svg))
  end)

  it("of an option has its own text, and no other's", function()
    local text = said "plan.gemm"
    assert.matches('\n  template +"gemm_sm90.cu" %(TMA, wgmma; 9.0%), "gemm_sm120.cu"', text)
    assert.matches("\n  warps +{along M, along N}; gemm_sm80.cu, gemm_sm120.cu\n", text)
  end)

  it("of a value has its methods", function()
    assert.matches("\n  methods: .*%f[%w]get_slice%f[%W]",
      said(lutile.make_tiled_mma "UniversalFMA<f32>"))
  end)

  it("of nothing has all names, and is what help is as text", function()
    assert.matches("\n  Plan: run prepare ", said())
    assert.matches("\n  tuple dyn ", said())
    assert.equal(said(), tostring(explain))
    assert.equal(said(), said "lutile")
  end)
end)

describe("help of what takes options", function()
  local entries = help.parse(annotations())

  local function names_of(entry)
    local names = {}
    for i, option in ipairs(entry.options) do names[i] = option.name end
    table.sort(names)
    return table.concat(names, ", ")
  end

  -- What a function lists of an option that is like none of its own.
  local function names_said(f, ...)
    local _, message = pcall(f, ...)
    return message:match "%(there are (.*)%)$"
  end

  local sizes = { M = 16, N = 16, K = 16, dtype = "f16" }
  local unknown = { ["?"] = 1 }
  for name, f in pairs {
    ["plan.gemm"] = function() lutile.plan.gemm(unknown) end,
    ["plan.grouped_gemm"] = function() lutile.plan.grouped_gemm(unknown) end,
    ["plan.chained_gemm"] = function() lutile.plan.chained_gemm(unknown) end,
    ["Plan:run"] = function() lutile.plan.gemm(sizes):run(1, 2, 3, unknown) end,
    launch = function() lutile.launch(print, unknown) end,
    svg = function() lutile.svg(lutile.make_layout(4), unknown) end,
    ["cuda.compile"] = function() lutile.cuda.compile(unknown) end,
    ["cuda.compile_all"] = function() lutile.cuda.compile_all({}, unknown) end,
  } do
    it("has all that there are: " .. name, function()
      assert.equal(names_said(f), names_of(entries[name]))
    end)
  end

  it("has those of the search and those of the plan", function()
    local names = names_said(lutile.tune.gemm, unknown)
    assert.equal(names, names_of(entries["tune.gemm"]))
  end)

  it("has a line or more for each", function()
    local said, print = {}, _G.print
    _G.print = function(text) said[#said + 1] = text end
    local good, why = pcall(help.make(annotations), "plan.chained_gemm")
    _G.print = print
    assert.is_true(good, why)
    assert.matches("^plan.chained_gemm%(options%)\n  D = %(A %* B%^T%) %* B%^T, ", said[1])
    assert.matches("\n  block_k         columns of a tile of A$", said[1])
    assert.matches('\n  a_major         Contiguous along mode 0 %("row": column%-major in BLAS%) '
      .. 'or mode\n                  1 %("column" or "k", the default%)%.\n  b_major         the '
      .. "same of B\n", said[1])
  end)
end)
