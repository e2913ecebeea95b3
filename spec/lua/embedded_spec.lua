-- Embedded modules are their files without most comments: the same code on the same lines, and what
-- help shows of functions.

local help = require "lutile.help"

local embedded = require "lutile.cuda.driver".embedded

-- The text of a module's file, or nil.
local function read(name)
  local path = package.searchpath(name, "lua/?.lua;lua/?/init.lua")
  if not path then return nil end
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

local modules = {}
for name in pairs(package.preload) do
  if name:find "^lutile%." and read(name) then modules[#modules + 1] = name end
end
table.sort(modules)

-- What help prints of x.
local function shown(of, x)
  local said, print = nil, _G.print
  _G.print = function(text) said = text end
  local good, why = pcall(of, x)
  _G.print = print
  return good and said or error(why)
end

-- Calls f(name, function) for the functions in a table and in tables of it.
local function each_function(name, x, f, seen)
  if seen[x] then return end
  seen[x] = true
  if type(x) == "function" then return f(name, x) end
  for key, value in next, type(x) == "table" and x or {} do
    each_function(("%s.%s"):format(name, key), value, f, seen)
  end
end

describe("embedded files", function()
  it("have the code of modules on the lines of their files", function()
    assert.is_true(#modules > 40)
    for _, name in ipairs(modules) do
      local text = embedded(name)
      assert.is_true(string.dump(load(text, "=")) == string.dump(load(read(name), "=")), name)
    end
  end)

  it("have the text of templates", function()
    for _, name in ipairs { "kernels/gemm_sm90.cu", "kernels/lutile.cuh" } do
      local file = assert(io.open(name))
      assert.equal(file:read "a", embedded(name))
      file:close()
    end
  end)

  it("have what help shows of functions", function()
    local of_file, of_embedded, seen = help.make(read), help.make(embedded), {}
    for _, name in ipairs(modules) do
      if name ~= "lutile.meta" then
        each_function(name, require(name), function(path, f)
          assert.equal(shown(of_file, f), shown(of_embedded, f), path)
        end, seen)
      end
    end
  end)
end)
