local command = require "spec.support.command"
local run, execute, quote = command.run, command.execute, command.quote

local function script(text, arguments)
  local name = command.file(text)
  local result = run(name .. " " .. (arguments or ""))
  os.remove(name)
  result.name = name
  return result
end

describe("the lutile command", function()
  it("runs a script with its arguments", function()
    local r = script("print(arg[0] ~= nil, #arg, ...)", "a 'b c'")
    assert.same({ "true\t2\ta\tb c\n", "", 0 }, { r.out, r.err, r.code })
  end)

  it("has its options below 0 in arg", function()
    local name = command.file "print(arg[-2], arg[-1], arg[1])"
    assert.equal("-W\t--\tx\n", run("-W -- " .. name .. " x").out)
    os.remove(name)
  end)

  it("skips the first line of a script when it starts with #", function()
    assert.equal("1\n", script("#!/usr/bin/env lutile\nprint(1)").out)
  end)

  it("runs chunks and modules in their order", function()
    local r = run "-e 'a = 1' -e 'print(a)' -l m=math -lstring -e 'print(m.pi > 3, string)'"
    assert.matches("^1\ntrue\ttable: ", r.out)
    assert.same({ "", 0 }, { r.err, r.code })
  end)

  it("reads a script from standard input", function()
    assert.equal("x\n", run("- x", "print(...)").out)
    assert.equal("1\n", run("", "print(1)").out)
  end)

  it("prints its version", function()
    local r = run "-v"
    assert.equal(0, r.code)
    assert.matches("^lutile %d+%.%d+%.%d+ %(Lua 5%.4%.%d+%)\n$", r.out)
    assert.equal(r.out, run("--version").out)
  end)

  it("prints how it is used", function()
    local r = run "-h"
    assert.equal(0, r.code)
    assert.matches("^usage: lutile ", r.out)
    assert.equal(r.out, run("--help").out)
  end)

  it("ends with the code that os.exit gives", function()
    assert.equal(3, execute("os.exit(3)").code)
    assert.equal(0, execute("os.exit(true, true)").code)
    assert.equal(1, execute("os.exit(false, true)").code)
  end)

  it("runs LUA_INIT first, unless -E is given", function()
    assert.equal("1\n2\n", run("-e 'print(2)'", "", "LUA_INIT='print(1)'").out)
    assert.equal("2\n", run("-E -e 'print(2)'", "", "LUA_INIT='print(1)'").out)
  end)

  it("prints warnings when they are on", function()
    assert.equal("", execute("warn 'careful'").err)
    assert.matches("careful", run("-W -e \"warn 'careful'\"").err)
  end)

  it("closes its state", function()
    local r = execute "local x <const> = setmetatable({}, {__gc = function() print 'closed' end})"
    assert.equal("closed\n", r.out)
  end)
end)

describe("an error of a script", function()
  it("ends with 1, the script's line first on stderr, then the traceback", function()
    local r = script "local function f() error 'no' end\nf()"
    assert.equal(1, r.code)
    assert.equal("", r.out)
    assert.equal(r.name .. ":1: no", r.err:match "^[^\n]*")
    assert.matches("\nstack traceback:\n", r.err)
    assert.matches(":2: in main chunk", r.err)
  end)

  it("stops what comes after it", function()
    assert.equal("", run("-e 'error()' -e 'print(1)'").out)
  end)

  for object, message in pairs {
    ["{}"] = "(error object is a table value)",
    ["setmetatable({}, {__tostring = function() return {} end})"] =
      "(error object is a table value)",
    ["nil"] = "(error object is a nil value)",
    ["setmetatable({}, {__tostring = function() return 'mine' end})"] = "mine",
    ["12"] = "12",
    ["make_layout(4)"] = "4:1",
  } do
    it(("shows the error object %s, and the traceback"):format(object), function()
      local r = execute("error(" .. object .. ", 0)")
      assert.same({ 1, "" }, { r.code, r.out })
      assert.equal(message, r.err:match "^[^\n]*")
      assert.matches("\nstack traceback:\n", r.err)
    end)
  end

  it("may be of the syntax", function()
    local r = script "x ="
    assert.equal(1, r.code)
    assert.equal(r.name .. ":1: unexpected symbol near <eof>\n", r.err)
  end)

  it("may be that there is no script", function()
    local r = run "/nowhere/at/all.lua"
    assert.equal(1, r.code)
    assert.matches("^cannot open /nowhere/at/all.lua", r.err)
  end)
end)

describe("bad usage", function()
  for arguments, message in pairs {
    ["-q"] = "lutile: unknown option '-q'",
    ["--verbose"] = "lutile: unknown option '--verbose'",
    ["-vi"] = "lutile: unknown option '-vi'",
    ["-e"] = "lutile: value missing after '-e'",
    ["-e 'print(1)' -l"] = "lutile: value missing after '-l'",
  } do
    it(("ends with 2 and runs nothing: %s"):format(arguments), function()
      local r = run(arguments)
      assert.same({ 2, "" }, { r.code, r.out })
      assert.equal(message, r.err:match "^[^\n]*")
      assert.matches("\nusage: lutile ", r.err)
    end)
  end
end)

describe("the globals of a script", function()
  it("have lutile's names, but never over Lua's own", function()
    local r = execute [[
      print(~make_layout({3, 8}, {1, 3}) .. make_layout({3, 8}, {8, 1}))
      print(lutile.composition == composition, select('#', 1, 2), select ~= lutile.select)]]
    assert.same({ "", 0 }, { r.err, r.code })
    assert.matches("\ntrue\t2\ttrue\n$", r.out)
  end)

  it("raise where they are undefined", function()
    local r = script "print(1)\nprint(undefined_name)"
    assert.same({ 1, "1\n" }, { r.code, r.out })
    assert.equal(r.name .. ":2: undefined global 'undefined_name'", r.err:match "^[^\n]*")
  end)

  it("have no help, which is the prompt's", function()
    assert.equal("(command line):1: undefined global 'help' (the prompt has it: lutile -i)",
      execute("help(size)").err:match "^[^\n]*")
  end)

  it("raise in functions and coroutines as well", function()
    local r = execute "print(pcall(coroutine.wrap(function() return no_such_name end)))"
    assert.equal("false\t(command line):1: undefined global 'no_such_name'\n", r.out)
  end)

  it("may be assigned, and be looked for with rawget", function()
    assert.equal("1\tnil\n", execute("x = 1 print(x, rawget(_G, 'y'))").out)
  end)

  it("are nil for modules that look for them", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local file = assert(io.open(folder .. "/probing.lua", "w"))
    file:write "return { jit = jit, layout = make_layout }"
    file:close()
    local chunk = "local m = require 'probing' print(m.jit, m.layout ~= nil)"
    local r = run("-e " .. quote(chunk), "", ("LUA_PATH='%s/?.lua'"):format(folder))
    os.execute("rm -r " .. folder)
    assert.same({ "nil\ttrue\n", "" }, { r.out, r.err })
  end)
end)
