-- The cache of compiled kernels on disk.

local support = require "spec.support.cuda"
local command = require "spec.support.command"

local it_compiles = support.with_compiler(it, pending)

local pipe_of_id = io.popen "id -u"
local is_root = pipe_of_id:read "a" == "0\n"
pipe_of_id:close()

local CHUNK = [[
local cuda = require "lutile.cuda"
local kernel = cuda.compile { arch = "sm_80", name = "f",
  source = 'extern "C" __global__ void f(int *p) { p[0] = ' .. (arg[1] or 1) .. '; }' }
local s = cuda.statistics()
io.write(kernel.origin, " ", s.compiled, " ", s.from_disk, " ", #kernel:image(), "\n")
]]

local folder, script

-- Compiles a kernel in a process of its own.
local function run(cache, argument, environment)
  return command.run(("-W %s %s"):format(command.quote(script), argument or ""), nil,
    ("LUTILE_CACHE=%s %s"):format(command.quote(cache or folder .. "/cache"), environment or ""))
end

local function entry()
  for _, name in ipairs(support.list(folder .. "/cache")) do
    if name:match "^%x+$" and #name == 32 then return folder .. "/cache/" .. name end
  end
end

local function shell(line)
  assert(os.execute(line:gsub("$D", command.quote(folder))))
end

describe("the cache", function()
  before_each(function()
    folder = support.new_folder()
    script = command.file(CHUNK)
  end)
  after_each(function()
    support.remove_folder(folder)
    os.remove(script)
  end)

  -- LT066, LT068
  it_compiles("has a kernel compile once: a second process takes it from disk", function()
    assert.matches("^compiled 1 0 ", run().out)
    assert.matches("^disk 0 1 ", run().out)
  end)

  it_compiles("tells kernels, options and architectures apart", function()
    assert.matches("^compiled 1 0 ", run().out)
    assert.matches("^compiled 1 0 ", run(nil, "2").out)
    assert.equal(2, #support.list(folder .. "/cache"))
  end)

  it_compiles("is private to the user, and holds what was compiled for people to read", function()
    run()
    local pipe = io.popen(("stat -c %%a %s %s %s/kernel.cubin"):format(
      command.quote(folder .. "/cache"), command.quote(entry()), command.quote(entry())))
    assert.equal("700\n700\n600\n", pipe:read "a")
    pipe:close()
    local source = io.open(entry() .. "/kernel.cu"):read "a"
    assert.matches('extern "C" __global__ void f(int *p)', source, 1, true)
  end)

  -- LT065
  it_compiles("serves processes that race for a kernel, and keeps one entry", function()
    local lines = {}
    for i = 1, 8 do
      lines[i] = ("LUTILE_CACHE=$D/cache %s %s >$D/out.%d 2>&1 &"):format(
        command.quote(command.path), command.quote(script), i)
    end
    shell(table.concat(lines, "\n") .. "\nwait")
    for i = 1, 8 do
      local file = io.open(folder .. "/out." .. i)
      assert.matches("^%l+ [01] [01] %d+\n$", file:read "a")
      file:close()
    end
    assert.equal(1, #support.list(folder .. "/cache"))
    assert.matches("^disk", run().out)
  end)

  for _, damage in ipairs {
    { "cut short", "head -c 100 $e/kernel.cubin >$e/x; mv $e/x $e/kernel.cubin" },
    { "changed in a byte",
      "printf X | dd of=$e/kernel.cubin bs=1 seek=200 conv=notrunc 2>/dev/null" },
    { "without its sum", "rm $e/sum" },
    { "with an empty image", ": >$e/kernel.cubin" },
    { "with a pipe for its image", "rm $e/kernel.cubin; mkfifo $e/kernel.cubin" },
    { "with a pipe for its sum", "rm $e/sum; mkfifo $e/sum" },
    { "with a folder for its image", "rm $e/kernel.cubin; mkdir $e/kernel.cubin" },
    { "with a folder for its sum", "rm $e/sum; mkdir $e/sum" },
    { "that is a pipe", "rm -r $e; mkfifo $e" },
  } do
    it_compiles("compiles anew where an entry is " .. damage[1], function()
      run()
      shell("for e in $D/cache/*; do " .. damage[2] .. "; done")
      local again = run()
      assert.matches("^compiled 1 0 ", again.out)
      assert.equal("", again.err)
      assert.matches("^disk 0 1 ", run().out)
    end)
  end

  it_compiles("warns of a damaged entry that it cannot remove, and goes on", function()
    run()
    shell "for e in $D/cache/*; do rm $e/kernel.cubin; mkdir -p $e/kernel.cubin/x; done"
    local result = run()
    assert.matches("^compiled 1 0 ", result.out)
    assert.matches("^Lua warning: lutile: '.*/cache/%x+' holds no whole kernel, and cannot be "
      .. "removed: Directory not empty\n$", result.err)
  end)

  it_compiles("warns where its folder cannot be written, and goes on", function()
    if is_root then
      -- Root writes to read-only folders: a file in the place of the folder stops it too.
      shell "touch $D/cache"
      local result = run()
      assert.matches("^compiled 1 0 ", result.out)
      assert.matches("Lua warning: lutile: cache folder '.*': Not a directory", result.err)
      return
    end
    run()
    shell "chmod 500 $D/cache"
    assert.matches("^disk 0 1 ", run().out)
    local other = run(nil, "2")
    assert.matches("^compiled 1 0 ", other.out)
    assert.matches("Lua warning: lutile: cache folder '.*' cannot be written: Permission denied",
      other.err)
  end)

  it_compiles("takes nothing from a folder that others can write", function()
    run()
    shell "chmod 777 $D/cache"
    local result = run()
    assert.matches("^compiled 1 0 ", result.out)
    assert.matches("is not used: others own it or can write to it", result.err, 1, true)
    shell "chmod 700 $D/cache; chmod 777 $D/cache/*"
    assert.matches("^compiled 1 0 ", run().out)
  end)

  it_compiles("follows no links to other places", function()
    run()
    shell "e=$(ls $D/cache); mv $D/cache/$e $D/elsewhere; ln -s $D/elsewhere $D/cache/$e"
    assert.matches("^compiled 1 0 ", run().out)
  end)

  it_compiles("replaces a file or a link that has an entry's name", function()
    for _, other in ipairs { "echo x > $E", "ln -s /nowhere $E" } do
      run()
      shell(("E=$D/cache/$(ls $D/cache); rm -r $E; %s"):format(other))
      assert.matches("^compiled 1 0 ", run().out)
      assert.matches("^disk 0 1 ", run().out)
    end
  end)

  it_compiles("keeps to its size within a process, too", function()
    os.remove(script)
    script = command.file [[
local cuda = require "lutile.cuda"
for i = 1, 6 do
  cuda.compile { arch = "sm_80", name = "f", source = ('extern "C" __global__ void f(int *p) '
    .. '{ p[0] = %d; } /* %s */'):format(i, ("x"):rep(400000)) }
end]]
    local result = run(nil, nil, "LUTILE_CACHE_SIZE=1")
    assert.same({ "", 0 }, { result.err, result.code })
    assert.equal(2, #support.list(folder .. "/cache"))
  end)

  it_compiles("keeps to its size, the oldest out first", function()
    local pad = "1 /* " .. ("x"):rep(400000) .. " */"
    local long = folder .. "/long"
    local file = io.open(long, "w")
    file:write((CHUNK:gsub("%(arg%[1%] or 1%)", function()
      return ("(arg[1] .. [==[%s]==])"):format(pad)
    end)))
    file:close()
    os.remove(script)
    script = long
    for i = 1, 4 do
      assert.matches("^compiled", run(nil, i, "LUTILE_CACHE_SIZE=1").out)
      os.execute "sleep 0.02"
    end
    assert.equal(2, #support.list(folder .. "/cache"))
    assert.matches("^disk", run(nil, 4, "LUTILE_CACHE_SIZE=1").out)
    assert.matches("^disk", run(nil, 3, "LUTILE_CACHE_SIZE=1").out)
    assert.matches("^compiled", run(nil, 1, "LUTILE_CACHE_SIZE=1").out)
  end)

  it_compiles("takes its usual size where the one that is asked for is no number", function()
    for _, size in ipairs { "x", "10x", "-1", "1e3" } do
      local result = run(nil, 1, "LUTILE_CACHE_SIZE=" .. size)
      assert.matches(("LUTILE_CACHE_SIZE is '%s', and not a number of MiB: 512 are taken")
        :format(size), result.err, 1, true)
      assert.equal(0, result.code)
    end
    assert.equal("", run(nil, 1, "LUTILE_CACHE_SIZE=0").err)
  end)

  it_compiles("keeps no kernel, and takes none, where its size is 0", function()
    for _ = 1, 2 do
      local result = run(nil, 1, "LUTILE_CACHE_SIZE=0")
      assert.matches("^compiled 1 0 ", result.out)
      assert.equal("", result.err)
    end
    assert.same({}, support.list(folder .. "/cache"))
    assert.matches("^compiled 1 0 ", run(nil, 1).out)
    assert.matches("^compiled 1 0 ", run(nil, 1, "LUTILE_CACHE_SIZE=0").out)
    assert.matches("^disk 0 1 ", run(nil, 1).out)
  end)

  it_compiles("says which variable names a folder by too many bytes", function()
    local long = "/" .. ("x"):rep(5000)
    for variable, others in pairs { LUTILE_CACHE = "", XDG_CACHE_HOME = "-u LUTILE_CACHE",
      HOME = "-u LUTILE_CACHE -u XDG_CACHE_HOME" } do
      local result = command.run("-W " .. command.quote(script), nil,
        ("env %s %s=%s"):format(others, variable, long))
      assert.matches("^compiled 1 0 ", result.out)
      assert.matches(("no cache folder: the name from %s has more than 4095 bytes"):format(
        variable), result.err, 1, true)
    end
  end)

  it_compiles("does without where no folder is named", function()
    local result = command.run("-W " .. command.quote(script), nil,
      "env -u LUTILE_CACHE -u XDG_CACHE_HOME -u HOME")
    assert.matches("^compiled 1 0 ", result.out)
    assert.matches("no cache folder: LUTILE_CACHE, XDG_CACHE_HOME and HOME are not set", result.err,
      1, true)
  end)

  it_compiles("says what is wrong with the folder, whatever the size", function()
    local result = command.run("-W " .. command.quote(script), nil,
      "env -u XDG_CACHE_HOME -u HOME LUTILE_CACHE=/dev/null/x LUTILE_CACHE_SIZE=x")
    assert.matches("^compiled 1 0 ", result.out)
    assert.matches("cache folder '/dev/null/x': Not a directory", result.err, 1, true)
  end)

  -- LT069
  it_compiles("gives a kernel that is in memory again", function()
    local result = support.run_with_fake([[
local cuda = require "lutile.cuda"
local spec = { name = "f", source = 'extern "C" __global__ void f() {}' }
for i = 1, 1000 do cuda.compile(spec):launch {} () end
local s = cuda.statistics()
print(s.compiled, s.from_memory, s.loads, s.launches)
]])
    assert.equal("1\t999\t1\t1000\n", result.out)
    assert.equal(1, support.count(result.log, "load"))
  end)
end)
