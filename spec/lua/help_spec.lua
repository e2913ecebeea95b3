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

  it("calls nothing of the user's", function()
    _G.spec_trap = setmetatable({}, { __index = function() error "called" end })
    assert.same({ {}, 1 }, { complete "spec_trap.x" })
  end)
end)
