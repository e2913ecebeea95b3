-- What README.md shows is what the command prints.
local command = require "spec.support.command"
local support = require "spec.support.cuda"

local file = assert(io.open "README.md")
local readme = file:read "a"
file:close()

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
    local r = command.run("-", (readme:match "Plans need no GPU.-```lua\n(.-)```"))
    assert.same({ "", 0 }, { r.err, r.code })
    assert.matches("wgmma.mma_async", r.out, 1, true)
  end)

  it("has the picture of a TiledMMA", function()
    local example, path = readme:match "This is `(svg.-)`.-%!%[[^%]]*%]%((.-)%)"
    local r = command.execute(("io.write(%s)"):format(example))
    local picture = assert(io.open(path))
    assert.is_true(picture:read "a" == r.out)
    picture:close()
  end)

  for example, result in readme:gmatch "\n| [^|]+ | `([^`]*)` | `([^`]*)` |" do
    it(("shows what %s gives"):format(example), function()
      local chunk = ("R = make_layout({ 4, 8 }, LayoutRight) print(%s)"):format(example)
      local r = command.execute(chunk)
      assert.same({ "", result .. "\n" }, { r.err, r.out })
    end)
  end
end)
