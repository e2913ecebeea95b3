-- Small files of text beside the compiled kernels.

local support = require "spec.support.cuda"
local command = require "spec.support.command"

local it_notes = support.with_cuda(it, pending)

local folder

-- Runs a chunk with the cache in the folder; 'd' is the driver.
local function run(chunk, cache)
  local result = command.run("-W -", 'local d = require "lutile.cuda.driver"\n' .. chunk,
    "LUTILE_CACHE=" .. command.quote(cache or folder .. "/cache"))
  if result.code ~= 0 then error(result.err, 2) end
  return result.out
end

local function shell(line) assert(os.execute((line:gsub("$D", command.quote(folder))))) end

describe("notes", function()
  before_each(function() folder = support.new_folder() end)
  after_each(function() support.remove_folder(folder) end)

  it_notes("are as they were written, in another process", function()
    assert.equal("nil\ntrue\n", run [[
print((d.read_note "a.lua"))
print(d.write_note("a.lua", "one\0two\n"))]])
    assert.equal("one\0two\n\n", run 'print(d.read_note "a.lua")')
    assert.equal("true\n\n", run 'print(d.write_note("a.lua", "")) print(d.read_note "a.lua")')
  end)

  it_notes("are private files, and nothing else stays", function()
    run 'for i = 1, 3 do d.write_note("a.lua", "x") end'
    local pipe = io.popen("stat -c %a " .. command.quote(folder .. "/cache/a.lua"))
    assert.equal("600\n", pipe:read "a")
    pipe:close()
    assert.same({ "a.lua" }, support.list(folder .. "/cache"))
  end)

  for why, line in pairs {
    ["others own it or can write to it"] = "chmod 666 $D/cache/a.lua",
    ["it is no plain file"] = "rm $D/cache/a.lua; mkfifo -m 600 $D/cache/a.lua",
    ["it has more than 1 MiB"] = "head -c 1048577 /dev/zero >$D/cache/a.lua",
  } do
    it_notes("are not read where " .. why, function()
      run 'd.write_note("a.lua", "x")'
      shell(line)
      assert.equal(("nil\t'%s/cache/a.lua' is not used: %s\n"):format(folder, why),
        run 'print(d.read_note "a.lua")')
      assert.equal("true\tx\n", run [[print(d.write_note("a.lua", "x"), (d.read_note "a.lua"))]])
    end)
  end

  it_notes("are not read through links", function()
    run 'd.write_note("a.lua", "x")'
    shell "mv $D/cache/a.lua $D/b; ln -s $D/b $D/cache/a.lua"
    assert.equal(("nil\t'%s/cache/a.lua' Too many levels of symbolic links\n"):format(folder),
      run 'print(d.read_note "a.lua")')
  end)

  it_notes("are not read from a folder that others can write", function()
    run 'd.write_note("a.lua", "x")'
    shell "chmod 777 $D/cache"
    local why = ("cache folder '%s/cache' is not used: others own it or can write to it"):format(
      folder)
    assert.equal("nil\t" .. why .. "\n", run 'print(d.read_note "a.lua")')
    assert.equal("nil\t" .. why .. "\n", run 'print(d.write_note("a.lua", "y"))')
  end)

  it_notes("do without where there is no folder", function()
    assert.matches("^nil\tcache folder '/dev/null/x': ", run('print(d.read_note "a.lua")',
      "/dev/null/x"))
  end)

  it_notes("have names of their own", function()
    for _, name in ipairs { "", "a", "../a.lua", "a/b.lua", ".a", "tmp.a", "A.lua", "a1.lua",
      ("0123456789abcdef"):rep(2), ("a"):rep(70) .. ".lua" } do
      local out = run(("print(select(2, d.write_note(%q, 'x')))"):format(name))
      assert.matches("is no name of a note: small letters, '_' and an ending", out, 1, true)
    end
    assert.same({}, support.list(folder .. "/cache"))
  end)

  it_notes("have a mebibyte at most", function()
    assert.equal("nil\t'a.lua' would have 1048577 bytes, where a note has 1048576 at most\ntrue\n",
      run [[
print(d.write_note("a.lua", ("x"):rep(1048577)))
print(d.write_note("a.lua", ("x"):rep(1048576)))]])
  end)

  it_notes("lose nothing to processes that change them under the lock", function()
    local script = command.file [[
local d = require "lutile.cuda.driver"
for _ = 1, 50 do
  local lock = d.lock_notes()
  d.write_note("a.lua", (d.read_note "a.lua" or "") .. "x")
  lock:close()
end]]
    local lines = {}
    for i = 1, 4 do
      lines[i] = ("LUTILE_CACHE=$D/cache %s %s &"):format(command.quote(command.path),
        command.quote(script))
    end
    shell(table.concat(lines, "\n") .. "\nwait")
    os.remove(script)
    assert.equal("200\n", run 'print(#d.read_note "a.lua")')
  end)
end)
