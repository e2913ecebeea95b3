-- What README.md shows is what the command prints.
local command = require "spec.support.command"
local support = require "spec.support.cuda"

local function text_of(name)
  local file = assert(io.open(name))
  local text = file:read "a"
  file:close()
  return text
end

local readme = text_of "README.md"

describe("README.md", function()
  local shown = 0
  for chunk, output in readme:gmatch "```lua\n(.-)```.-```text\n(.-)```" do
    shown = shown + 1
    it(("shows the output of script %d"):format(shown), function()
      local r = command.run("-", chunk)
      assert.same({ "", output }, { r.err, r.out })
    end)
  end

  support.with_device(it, pending)("has a script that runs on a device", function()
    local r = command.run("-", (readme:match "\n## CUDA\n.-```lua\n(.-)```"))
    assert.same({ "", 0 }, { r.err, r.code })
  end)

  it("has a script that plans without one", function()
    local chunk, names = readme:match "Plans need no GPU.-```lua\n(.-)```", {}
    local r = command.run("-", (chunk:gsub('open%("([^"]*)"', function(name)
      names[name] = os.tmpname()
      return ("open(%q"):format(names[name])
    end)))
    assert.same({ "", 0 }, { r.err, r.code })
    assert.matches("^gemm: f16 x f16 ", r.out)
    assert.matches("wgmma.mma_async", text_of(names["kernel.cu"]), 1, true)
    assert.matches("^<svg ", text_of(names["A.svg"]))
    for _, name in pairs(names) do os.remove(name) end
  end)

  it("has a script that runs a product with C and a bias", function()
    local r = command.run("-", (readme:match "A plan computes.-```lua\n(.-)```"))
    assert.same({ "", "", 0 }, { r.err, r.out, r.code })
  end)

  it("has the picture of a TiledMMA", function()
    local example, path = readme:match "This is `(svg.-)`.-%!%[[^%]]*%]%((.-)%)"
    local r = command.execute(("io.write(%s)"):format(example))
    assert.is_true(text_of(path) == r.out)
  end)

  for example, result in readme:gmatch "\n| [^|]+ | `([^`]*)` | `([^`]*)` |" do
    it(("shows what %s gives"):format(example), function()
      local chunk = ("R = make_layout({ 4, 8 }, LayoutRight) print(%s)"):format(example)
      local r = command.execute(chunk)
      assert.same({ "", result .. "\n" }, { r.err, r.out })
    end)
  end
end)
